import type { MonotonicMs, WallClockMs } from '../stores/port/lock-store.js';
import type { Waiter } from './queue/waiter.js';
import { TimerQueue, CallbackTimer } from '../common/timer-queue.js';
import { CallsInFlight } from './scope/calls-in-flight.js';
import { later } from '../common/clock.js';
import type { EngineLog, EngineSettings } from './engine-settings.js';
import type { Lease } from './lease/lease.js';
import type { LockEngine } from './lock-engine.js';

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
  /** Whether calls are refused. */
  isClosing = false;
  /** Whether its time is over, so that nobody may wait without limit any more. */
  isOverdue = false;

  private endsAt: MonotonicMs | undefined;
  private closed: Promise<void> | undefined;
  /** They are no reason for the process to live on. */
  private readonly timers: TimerQueue;
  private readonly tell = new CallbackTimer(() => {
    this.report();
  });
  private readonly overdue = new CallbackTimer(() => {
    // Work that goes by its signal stops now; else it could keep a server or a worker from stopping.
    this.isOverdue = true;
    this.refuseWaits(isEndless);
    this.engine.leases.abandonAll();
  });

  constructor(
    private readonly engine: LockEngine,
    private readonly settings: EngineSettings,
    private readonly log: EngineLog,
  ) {
    this.timers = new TimerQueue(engine.clock, false);
  }

  /** Starts the time of shutdown, once. */
  begin(): void {
    if (this.endsAt !== undefined) return;
    const now = this.engine.clock.monotonic();
    this.endsAt = later(now, this.settings.shutdownTimeout);
    this.timers.set(this.overdue, this.endsAt);
    this.timers.set(this.tell, later(now, QUIET));
  }

  /** Resolves when no call is in flight any more, or the time is over. */
  async callsEnded(): Promise<void> {
    this.begin();
    await this.engine.waits.within(this.timeLeft, this.calls.ended());
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
    const { engine, timers } = this;
    const { waits, leases, backgroundRetry } = engine;
    this.begin();
    if (this.tell.heapIndex === -1) timers.set(this.tell, later(engine.clock.monotonic(), QUIET));
    if (this.calls.size > 0) await this.callsEnded();
    this.isClosing = true;
    const queues = engine.queuesInUse;
    this.refuseWaits(() => true);
    await waits.within(this.timeLeft, leases.drained());
    timers.clear(this.tell);
    timers.clear(this.overdue);
    leases.abandonAll();
    // Requests under way get the time of a request, no more: what they bring is given back.
    const settled = Promise.all(queues.map((queue) => queue.idle())).then(() => backgroundRetry.idle());
    await waits.within(Math.min(LAST_REQUESTS, this.settings.watchdogTimeout), settled);
    backgroundRetry.stop();
    await this.takeBackUnanswered();
    leases.kept.leave();
    engine.hub.complete();
    await engine.session.close();
  }

  /** Else what the store grants to them would stay for its whole lease. Its answers, which may never come, are not waited for. */
  private async takeBackUnanswered(): Promise<void> {
    const { session, unanswered, waits } = this.engine;
    if (unanswered.length === 0) return;
    const cancels = unanswered.map(async ([owner, key]) => {
      await session.cancel({ key, owner, inDoubt: true });
    });
    await waits.within(LAST_WORDS, Promise.allSettled(cancels));
  }

  private refuseWaits(which: (caller: Waiter) => boolean): void {
    for (const queue of this.engine.queuesInUse) queue.refuse(which);
    for (const polling of this.engine.retrying) if (which(polling.caller)) polling.close();
  }

  /** ms of `shutdownTimeout`. */
  private get timeLeft(): number {
    const now = this.engine.clock.monotonic();
    return Math.max(0, (this.endsAt ?? now) - now);
  }

  private report(): void {
    const { leases, queuesInUse } = this.engine;
    const held = [...leases.all].filter(({ isParked }) => !isParked);
    const waiting = queuesInUse.flatMap((queue) => [...queue.waiting]);
    const uses = [
      ...held.map((lease) => this.holdOf(lease)),
      ...waiting.map((caller) => this.waitOf(caller)),
    ];
    if (uses.length === 0) return;
    const named = uses.slice(0, MOST_NAMED).join(', ');
    const others = uses.length > MOST_NAMED ? ` and ${String(uses.length - MOST_NAMED)} more` : '';
    const until =
      this.closed === undefined
        ? 'They can be used until everything else has stopped.'
        : `It waits ${(this.timeLeft / 1_000).toFixed(1)} s longer at most.`;
    this.log.warn(`Shutdown waits for locks that are in use: ${named}${others}. ${until}`);
  }

  private holdOf({ key, label, since }: Lease): string {
    return inUse(key, label, `since ${new Date(since).toISOString()}`);
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

/** Whether a caller waits until it has the lock, however long that takes. */
export function isEndless({ waitTime }: Waiter): boolean {
  return waitTime === Infinity;
}
