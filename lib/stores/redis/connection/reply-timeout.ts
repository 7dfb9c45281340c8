import type { Redis } from 'ioredis';

/** How late a timer has to fire, ms, for the process to have been stopped or blocked meanwhile. */
const MIN_STALL = 50;

/** What ioredis has for `socketTimeout`. */
interface Timed {
  readonly stream: NodeJS.EventEmitter & { destroy(error: Error): unknown };
  readonly commandQueue: { readonly length: number };
  readonly options: { readonly socketTimeout?: number };
  socketTimeoutTimer: NodeJS.Timeout | undefined;
  setSocketTimeout(): void;
}

/**
 * Has a connection cut that owes an answer for `socketTimeout`, but not because this process was busy: what has arrived
 * by then is read first, and after the process stood still the answer has its whole time once more, since neither the
 * request may have left nor the answer been taken. ioredis cuts it in both cases; and its version 5 leaves the timer
 * running when a connection closes, which then cuts the next one.
 */
export function withReplyTimeout(client: Redis): Redis {
  const timed = client as unknown as Timed;
  let watched: Timed['stream'] | undefined;
  let dueAt = 0;
  /** Whether the answer has its time once more: a process that stands still again and again would never cut. */
  let hasBeenExtended = false;

  const stop = (): void => {
    clearTimeout(timed.socketTimeoutTimer);
    timed.socketTimeoutTimer = undefined;
  };
  const start = (): void => {
    const { socketTimeout = 0 } = timed.options;
    dueAt = performance.now() + socketTimeout;
    timed.socketTimeoutTimer = setTimeout(onTimeout, socketTimeout);
  };
  const onTimeout = (): void => {
    const timer = timed.socketTimeoutTimer;
    const stoodStill = performance.now() - dueAt > MIN_STALL;
    setImmediate(() => {
      if (timer === undefined || timed.socketTimeoutTimer !== timer) return;
      if (stoodStill && !hasBeenExtended) {
        hasBeenExtended = true;
        start();
      } else {
        stop();
        watched?.destroy(new Error(`no answer within ${String(timed.options.socketTimeout)} ms`));
      }
    });
  };
  const onData = (): void => {
    stop();
    hasBeenExtended = false;
    if (timed.commandQueue.length > 0) start();
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
