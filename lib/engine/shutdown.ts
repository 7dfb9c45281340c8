import { later } from '../common/clock.js';
import { CallbackTimer, TimerQueue } from '../common/timer-queue.js';
import type { MonotonicMs } from '../stores/port/lock-store.js';
import type { AcquireContext } from './acquire.js';
import type { Hold } from './hold.js';
import type { TicketUser } from './ticket.js';
import { CallsInFlight } from '../common/deferred.js';

/** After this, ms, shutdown logs what it waits for. */
const QUIET = 1_000;
/** The most locks that one log line names. */
const MOST_NAMED = 20;
/** How long shutdown waits for pending requests at the end, ms. */
const LAST_REQUESTS = 1_000;
/** How long it waits for the cancellation of unanswered requests, ms. */
const LAST_WORDS = 50;

/** The engine that is shut down. */
interface EndingEngine extends AcquireContext {
  isClosing: boolean;
  isShutdownOverdue: boolean;
}

/**
 * The end of an engine. `announce` comes when the application begins to shut down and may still serve requests for a
 * while; `begin` when it stops its servers, which starts the time limit `shutdownTimeout` of holds; `close` when everything
 * that uses locks has stopped.
 */
export class Shutdown {
  /** Calls that shutdown lets finish, though nothing else waits for them. */
  readonly calls = new CallsInFlight();
  private isAnnounced = false;
  private endsAt: MonotonicMs | undefined;
  private closed: Promise<void> | undefined;
  /** These timers don't keep the process alive. */
  private readonly timers: TimerQueue;
  private readonly reminder = new CallbackTimer(() => {
    this.report();
  });
  /** A hook that waits for a call without a time limit would never end. */
  private readonly endless = new CallbackTimer(() => {
    this.engine.isShutdownOverdue = true;
    this.refuseWaits(({ waitTime }) => waitTime === Infinity);
  });
  private readonly overdue = new CallbackTimer(() => {
    // Aborts the signals: work that observes them stops, and no longer keeps a server from stopping.
    this.engine.tickets.abandonAll();
  });

  /** @param timeout `shutdownTimeout`, ms */
  constructor(
    private readonly engine: EndingEngine,
    private readonly timeout: number,
  ) {
    this.timers = new TimerQueue(this.engine.clock, false);
  }

  /** Calls without a time limit may wait for another `shutdownTimeout`. */
  announce(): void {
    if (this.isAnnounced) return;
    this.isAnnounced = true;
    this.timers.set(this.endless, later(this.engine.clock.monotonic(), this.timeout));
  }

  /** Starts the time limit `shutdownTimeout` of holds, once. */
  begin(): void {
    if (this.endsAt !== undefined) return;
    this.announce();
    const now = this.engine.clock.monotonic();
    this.endsAt = later(now, this.timeout);
    this.timers.set(this.overdue, this.endsAt);
    this.timers.set(this.reminder, later(now, QUIET));
  }

  /** Resolves when no call is in flight, or the time has ended. */
  async callsEnded(): Promise<void> {
    this.begin();
    await this.engine.timers.within(this.timeLeft, this.calls.ended());
  }

  /**
   * Lets calls in flight finish, refuses new and waiting ones, and renews holds until they end, all within the time
   * left. Then closes the session.
   */
  close(): Promise<void> {
    this.closed ??= this.run();
    return this.closed;
  }

  private async run(): Promise<void> {
    const { engine, timers } = this;
    const { tickets, backgroundRetry, lines } = engine;
    this.begin();
    if (this.reminder.heapIndex === -1) timers.set(this.reminder, later(engine.clock.monotonic(), QUIET));
    if (this.calls.size > 0) await this.callsEnded();
    engine.isClosing = true;
    const used = lines.all;
    this.refuseWaits(() => true);
    await engine.timers.within(this.timeLeft, tickets.drained());
    // Replies to releases, which callers have not waited for.
    await engine.timers.within(this.timeLeft, backgroundRetry.firstsDone());
    timers.clear(this.reminder);
    timers.clear(this.endless);
    timers.clear(this.overdue);
    tickets.abandonAll();
    // Pending requests get the time of one request; locks that they acquire are released.
    const settled = Promise.all(used.map((line) => line.idle())).then(() => backgroundRetry.idle());
    await engine.timers.within(Math.min(LAST_REQUESTS, engine.watchdogTimeout), settled);
    await this.takeBackUnanswered(backgroundRetry.stop());
    tickets.leaveKept();
    engine.hub.complete();
    await engine.session.close();
    // Native timers are not cleared when a wait ends: none may outlive the application.
    tickets.close();
    timers.close();
    engine.timers.close();
  }

  /**
   * Cancels pending requests, whose locks would otherwise stay held for their whole lease. Does not wait for the
   * replies, which may never come.
   *
   * @param hasRetries whether failed requests have just been repeated once more
   */
  private async takeBackUnanswered(hasRetries: boolean): Promise<void> {
    const { session, timers, backgroundRetry, tickets } = this.engine;
    const unanswered = [...tickets.byOwner.values()].filter(({ isAsking }) => isAsking);
    if (unanswered.length === 0 && !hasRetries) return;
    const cancels = unanswered.map(async ({ owner, key }) => {
      await session.release({ key, owner, wasGranted: false, inDoubt: true });
    });
    await timers.within(LAST_WORDS, Promise.allSettled([...cancels, backgroundRetry.idle()]));
  }

  private refuseWaits(which: (hold: Hold) => boolean): void {
    for (const line of this.engine.lines.all) line.shutDown(which);
  }

  /** What is left of `shutdownTimeout`, ms. */
  private get timeLeft(): number {
    const now = this.engine.clock.monotonic();
    return Math.max(0, (this.endsAt ?? now) - now);
  }

  private report(): void {
    const held = [...this.engine.tickets.held].flatMap(({ holders }) => [...holders]);
    const waiting = this.engine.lines.all.map((line) => [...line.waiting]);
    const parts = [
      ...listed(
        'locks that are in use',
        held.map((hold) => this.holdOf(hold)),
      ),
      ...listed(
        'callers that wait for locks',
        waiting.flatMap((callers) => this.waitOf(callers)),
      ),
    ];
    if (parts.length === 0) return;
    const left = (this.timeLeft / 1_000).toFixed(1);
    this.engine.log.warn(
      `Shutdown waits for ${parts.join(', and for ')}. It waits at most another ${left} s.`,
    );
  }

  private holdOf({ key, label, acquiredAt }: TicketUser): string {
    return inUse(key, label, `since ${new Date(acquiredAt).toISOString()}`);
  }

  /** The callers of one key. */
  private waitOf(callers: readonly Hold[]): string[] {
    const [first] = callers;
    if (first === undefined) return [];
    const { clock } = this.engine;
    const waited = Math.max(...callers.map(({ startedAt }) => clock.monotonic() - startedAt));
    const since = `since ${new Date(clock.wall() - waited).toISOString()}`;
    const count = callers.length === 1 ? '' : `${String(callers.length)} callers, `;
    return [inUse(first.key, first.label, count + since)];
  }
}

/** At most `MOST_NAMED` of them. */
function listed(what: string, uses: readonly string[]): string[] {
  if (uses.length === 0) return [];
  const others = uses.length > MOST_NAMED ? ` and ${String(uses.length - MOST_NAMED)} more` : '';
  return [`${what}: ${uses.slice(0, MOST_NAMED).join(', ')}${others}`];
}

function inUse(key: string, label: string | undefined, since: string): string {
  return label === undefined ? `"${key}" (${since})` : `"${key}" (${label}, ${since})`;
}
