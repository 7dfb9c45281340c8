import { inMs } from '../../../common/durations.js';
import { setTimeout as nativeSetTimeout } from 'node:timers';
import type { Redis } from 'ioredis';
import { MIN_STALL } from '../../port/times.js';

/** What ioredis has for `socketTimeout`. */
interface Timed {
  readonly stream: NodeJS.EventEmitter & { destroy(error: Error): unknown };
  readonly commandQueue: { readonly length: number };
  readonly options: { readonly socketTimeout?: number };
  /** As long as it is undefined, the next command that is sent calls `setSocketTimeout`. */
  socketTimeoutTimer: NodeJS.Timeout | undefined;
  setSocketTimeout(): void;
}

/**
 * Has a connection cut that owes an answer for `socketTimeout`, but not because this process was busy: what has arrived
 * by then is read first, and after the process stood still the answer has its whole time once more, since neither the
 * request may have left nor the answer been taken. ioredis cuts it in both cases; and its version 5 leaves the timer
 * running when a connection closes, which then cuts the next one.
 *
 * Answers only move the time at which it is due: to clear and set a timer for each of them costs more than to decode it.
 * A timer that fires too early for that is set once more. Fake timers of a test are set for each, so that it sees them.
 */
export function withReplyTimeout(client: Redis): Redis {
  const timed = client as unknown as Timed;
  let watched: Timed['stream'] | undefined;
  /** When the connection is cut; meaningless while it owes nothing. */
  let dueAt = 0;
  /** What runs, if it does; also while the connection owes nothing. */
  let timer: NodeJS.Timeout | undefined;
  /** What it was set with: fake timers of a test may have come or gone since. */
  let setWith: unknown;
  /** Whether the answer has its time once more: a process that stands still again and again would never cut. */
  let hasBeenExtended = false;

  const stop = (): void => {
    clearTimeout(timer);
    timer = timed.socketTimeoutTimer = undefined;
  };
  const start = (): void => {
    const { socketTimeout = 0 } = timed.options;
    dueAt = performance.now() + socketTimeout;
    if (timer === undefined || setWith !== nativeSetTimeout || globalThis.setTimeout !== nativeSetTimeout) {
      stop();
      run(socketTimeout);
    }
    timed.socketTimeoutTimer = timer;
  };
  const run = (ms: number): void => {
    setWith = globalThis.setTimeout;
    const running = setTimeout(() => {
      if (timer === running) onTimeout();
    }, ms);
    timer = running;
  };
  const onTimeout = (): void => {
    const owesAnswer = timed.socketTimeoutTimer !== undefined;
    const lateBy = performance.now() - dueAt;
    timer = undefined;
    if (!owesAnswer) return;
    // Timers may fire a fraction of a millisecond early.
    if (lateBy < -1) {
      run(Math.ceil(-lateBy));
      return;
    }
    const due = dueAt;
    setImmediate(() => {
      // The answer was there, or the connection has closed.
      if (timed.socketTimeoutTimer === undefined || dueAt !== due) return;
      if (lateBy > MIN_STALL && !hasBeenExtended) {
        hasBeenExtended = true;
        start();
      } else {
        stop();
        watched?.destroy(new Error(`no answer within ${inMs(timed.options.socketTimeout ?? 0)}`));
      }
    });
  };
  const onData = (): void => {
    hasBeenExtended = false;
    if (timed.commandQueue.length > 0) start();
    else if (setWith === nativeSetTimeout) timed.socketTimeoutTimer = undefined;
    else stop();
  };

  timed.setSocketTimeout = () => {
    const { stream } = timed;
    if (stream !== watched) {
      watched = stream;
      // After what takes the answers out of the queue.
      stream.on('data', onData);
    }
    hasBeenExtended = false;
    start();
  };
  client.on('close', stop);
  return client;
}
