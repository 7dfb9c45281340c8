import type { MonotonicMs, WallClockMs } from '../stores/port/lock-store.js';
import type { Waiter } from './queue/waiter.js';
import { TimerQueue, CallbackTimer } from '../common/timer-queue.js';
import { CallsInFlight } from './scope/calls-in-flight.js';
import { later } from '../common/clock.js';
import type { AcquireContext } from './acquire/acquire-context.js';
import type { EngineContext } from './context.js';
import type { LeaseUser } from './lease/lease.js';

/** After this, ms, the log tells what shutdown waits for. */
const QUIET = 1_000;
/** Locks that a line of the log names at most. */
const MOST_NAMED = 20;
/** For requests under way at the end, ms. */
const LAST_REQUESTS = 1_000;
/** For sending what takes them back when their answers have not come, ms. */
const LAST_WORDS = 50;

/**
 * The end of an engine (B60). It begins when the application begins to shut down, which is when the time for it starts,
 * and changes nothing at first. It closes when everything has stopped that uses locks.
 */
export class Shutdown {
  /** Calls that may come to their end first, though nothing else waits for them. */
  readonly calls = new CallsInFlight();
  private endsAt: MonotonicMs | undefined;
  private closed: Promise<void> | undefined;
  /** They are no reason for the process to live on. */
  private readonly timers: TimerQueue;
  private readonly tell = new CallbackTimer(() => {
    this.report();
  });
  private readonly overdue = new CallbackTimer(() => {
    // Work that goes by its signal stops now; else it could keep a server or a worker from stopping.
    this.engine.isOverdue = true;
    this.refuseWaits(({ waitTime }) => waitTime === Infinity);
    this.engine.leases.abandonAll();
  });

  private readonly engine: EngineContext;

  /** @param timeout `shutdownTimeout`, ms */
  constructor(
    private readonly acquiring: AcquireContext,
    private readonly timeout: number,
  ) {
    this.engine = acquiring.engine;
    this.timers = new TimerQueue(this.engine.clock, false);
  }

  /** Starts the time of shutdown, once. */
  begin(): void {
    if (this.endsAt !== undefined) return;
    const now = this.engine.clock.monotonic();
    this.endsAt = later(now, this.timeout);
    this.timers.set(this.overdue, this.endsAt);
    this.timers.set(this.tell, later(now, QUIET));
  }

  /** Resolves when no call is in flight any more, or the time is over. */
  async callsEnded(): Promise<void> {
    this.begin();
    await this.engine.timers.within(this.timeLeft, this.calls.ended());
  }

  /**
   * Lets calls in flight come to their end, refuses what comes after and what waits, and lets holds end while they are
   * renewed; all that in the time that is left. Then closes the session.
   */
  close(): Promise<void> {
    this.closed ??= this.run();
    return this.closed;
  }

  private async run(): Promise<void> {
    const { engine, timers, acquiring } = this;
    const { leases, backgroundRetry } = engine;
    this.begin();
    if (this.tell.heapIndex === -1) timers.set(this.tell, later(engine.clock.monotonic(), QUIET));
    if (this.calls.size > 0) await this.callsEnded();
    engine.isClosing = true;
    const queues = acquiring.queues.all;
    this.refuseWaits(() => true);
    await engine.timers.within(this.timeLeft, leases.held.drained());
    // Callers did not wait for the replies to their releases.
    await engine.timers.within(this.timeLeft, backgroundRetry.firstsDone());
    timers.clear(this.tell);
    timers.clear(this.overdue);
    leases.abandonAll();
    // Requests under way get the time of a request, no more: what they bring is given back.
    const settled = Promise.all(queues.map((queue) => queue.idle())).then(() => backgroundRetry.idle());
    await engine.timers.within(Math.min(LAST_REQUESTS, engine.watchdogTimeout), settled);
    await this.takeBackUnanswered(backgroundRetry.stop());
    leases.kept.leave();
    engine.hub.complete();
    await engine.session.close();
    // Native timers are left running when nobody waits: none may outlive the application (B14).
    leases.close();
    timers.close();
    engine.timers.close();
  }

  /**
   * Else what the store grants to them would stay for its whole lease. Its answers, which may never come, are not waited for.
   *
   * @param hasRetries whether earlier requests of that kind, which failed, have just been tried once more
   */
  private async takeBackUnanswered(hasRetries: boolean): Promise<void> {
    const { session, timers, backgroundRetry } = this.engine;
    const { unanswered: tried, queues } = this.acquiring;
    const tries = [...tried.values()].map(({ owner, caller }) => [owner, caller.key] as const);
    const unanswered = [...tries, ...queues.unanswered];
    if (unanswered.length === 0 && !hasRetries) return;
    const cancels = unanswered.map(async ([owner, key]) => {
      await session.cancel({ key, owner, inDoubt: true });
    });
    await timers.within(LAST_WORDS, Promise.allSettled([...cancels, backgroundRetry.idle()]));
  }

  private refuseWaits(which: (caller: Waiter) => boolean): void {
    for (const queue of this.acquiring.queues.all) queue.refuse(which);
    for (const polling of this.acquiring.retrying) if (which(polling.caller)) polling.close();
  }

  /** ms of `shutdownTimeout`. */
  private get timeLeft(): number {
    const now = this.engine.clock.monotonic();
    return Math.max(0, (this.endsAt ?? now) - now);
  }

  private report(): void {
    const held = [...this.engine.leases.all].flatMap(({ holders }) => holders);
    const waiting = this.acquiring.queues.all.flatMap((queue) => [...queue.waiting]);
    const uses = [...held.map((hold) => this.holdOf(hold)), ...waiting.map((caller) => this.waitOf(caller))];
    if (uses.length === 0) return;
    const named = uses.slice(0, MOST_NAMED).join(', ');
    const others = uses.length > MOST_NAMED ? ` and ${String(uses.length - MOST_NAMED)} more` : '';
    const until =
      this.closed === undefined
        ? 'They can be used until everything else has stopped.'
        : `It waits ${(this.timeLeft / 1_000).toFixed(1)} s longer at most.`;
    this.engine.log.warn(`Shutdown waits for locks that are in use: ${named}${others}. ${until}`);
  }

  private holdOf({ key, label, acquiredAt }: LeaseUser): string {
    return inUse(key, label, `since ${new Date(acquiredAt).toISOString()}`);
  }

  private waitOf({ key, label, startedAt }: Waiter): string {
    const { clock } = this.engine;
    const since = (clock.wall() - (clock.monotonic() - startedAt)) as WallClockMs;
    return inUse(key, label, `waited for since ${new Date(since).toISOString()}`);
  }
}

function inUse(key: string, label: string | undefined, since: string): string {
  return label === undefined ? `"${key}" (${since})` : `"${key}" (${label}, ${since})`;
}
