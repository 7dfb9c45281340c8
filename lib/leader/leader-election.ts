import { Subject, type Observable } from 'rxjs';
import { GuardedObservable, guardedController, harmless, textOf } from '../engine/report/event-hub.js';
import { Deferred } from '../common/deferred.js';
import { shownDuration } from '../common/durations.js';
import { expectLongHold } from '../engine/leases/long-holds.js';
import type { LockHandle } from '../model/lock-handle.js';
import { ELECTION_OPERATION } from '../model/lock-kind.js';
import { LockClosedError, LockLostError, type LockLostReason } from '../model/lock.errors.js';
import type { LockOptions } from '../model/lock.options.js';

/**
 * Why leadership ended. `resigned`: `resign()` was called. `closed`: the application shuts down. The others are the
 * reasons of a lost lock: `expired`, its lease was not renewed in time; `taken`, an operator broke the lock;
 * `unreachable`, the store was unreachable until the lease ended. `failed`: a method under `@OnElected` threw.
 */
export type RevocationReason = LockLostReason | 'resigned' | 'closed' | 'failed';

/** This process has become the leader. */
export interface ElectedEvent {
  readonly type: 'elected';
  readonly election: string;
  /** Fencing token: larger for every later leader. */
  readonly token: number;
  /** ms since the epoch. */
  readonly at: number;
}

/** This process is no longer the leader. */
export interface RevokedEvent {
  readonly type: 'revoked';
  readonly election: string;
  /** The token of the `elected` event. */
  readonly token: number;
  readonly reason: RevocationReason;
  /** ms since the epoch. */
  readonly at: number;
}

export type LeadershipEvent = ElectedEvent | RevokedEvent;

/** The time for which this process is the leader, from its election to its revocation. */
export interface Leadership {
  readonly election: string;
  /** Fencing token: larger for every later leader. Let the guarded resource reject writes with a smaller one. */
  readonly token: number;
  /** Aborted when the leadership ends: with a `LockLostError`, or with an `Error` that names the reason. */
  readonly signal: AbortSignal;
  /** Whether this process is certainly still the leader. Reads the clock. */
  readonly isLeader: boolean;
}

/** A method under `@OnElected` or `@OnRevoked`. */
export type ElectionHandler = (argument: Leadership | RevokedEvent) => unknown;

/** The part of `LockService` that an election uses. */
export interface LeaderLocks {
  acquire(key: string, options: LockOptions): Promise<LockHandle>;
}

export interface ElectionLog {
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** Pauses before further attempts while the store refuses to grant locks, ms. */
const PAUSES = [500, 1_000, 2_000, 5_000] as const;

/** Pauses of a process whose leader methods keep throwing, before it is a candidate again, ms. */
const PAUSES_AFTER_WORK = [1_000, 2_000, 5_000, 10_000, 30_000, 60_000] as const;

/**
 * Elects one leader among the processes that take part in the election of this name. The leader holds a lock that the
 * watchdog renews; the other candidates wait in its queue in strict order, so the next one leads as soon as the lock is
 * free.
 *
 * A leader is revoked by its own clock before the store can elect another one. Running work does not stop automatically,
 * though: check `signal` or `isLeader` before each step, and let the resource that it writes to compare the `token`.
 */
export class LeaderElection {
  /** `elected` and `revoked` of this process. A new subscriber during a leadership receives its `elected` event first. */
  readonly leadership$: Observable<LeadershipEvent>;
  private readonly events = new Subject<LeadershipEvent>();
  private readonly handlers: Readonly<Record<LeadershipEvent['type'], ElectionHandler[]>> = {
    elected: [],
    revoked: [],
  };
  private readonly stopping = new AbortController();
  /** From the election until the lock is released. */
  private current: Term | undefined;
  /** How many leaderships in a row ended because a method threw. */
  private failedTerms = 0;
  private readonly log: ElectionLog;
  private running: Promise<void> | undefined;

  /** @param key the lock that the leader holds */
  constructor(
    readonly name: string,
    readonly key: string,
    private readonly locks: LeaderLocks,
    log: ElectionLog,
    private readonly label?: string,
  ) {
    const errors = harmless({ log: () => undefined, warn: (message) => log.error(message) });
    this.log = { ...harmless(log), error: (message) => errors.warn(message) };
    const warn = (message: string): void => this.log.warn(message);
    this.leadership$ = new GuardedObservable<LeadershipEvent>(warn, (subscriber) => {
      if (this.current?.signal.aborted === false) subscriber.next(this.current.elected);
      return this.events.subscribe(subscriber);
    });
  }

  /** Whether this process is certainly the leader now. Reads the clock. */
  get isLeader(): boolean {
    return this.leadership !== undefined;
  }

  /** The current leadership of this process; undefined if it is not the leader. Reads the clock. */
  get leadership(): Leadership | undefined {
    return this.current?.isLeader === true ? this.current : undefined;
  }

  /**
   * Ends the leadership of this process, if it is the leader: aborts its `signal`, waits for the methods under
   * `@OnElected` and `@OnRevoked`, and releases the lock for the next candidate. This process then queues behind the
   * others, and leads again at once if there are none. A method under `@OnElected` must not await it, since it waits
   * for that method.
   */
  async resign(): Promise<void> {
    await this.current?.end('resigned');
  }

  /** Whether a method under `@OnElected` threw in the latest leadership of this process. */
  get hasFailed(): boolean {
    return this.failedTerms > 0;
  }

  /** Adds a method to call, for `@OnElected` and `@OnRevoked`. */
  handle(event: LeadershipEvent['type'], handler: ElectionHandler): void {
    this.handlers[event].push(handler);
  }

  /** Makes this process a candidate; only once. */
  start(): void {
    this.running ??= this.run();
  }

  /** Withdraws the candidate, or resigns; resolves when the work of the leader has ended and the lock is released. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.current?.end('closed');
    await this.running;
    this.events.complete();
  }

  private get isStopped(): boolean {
    return this.stopping.signal.aborted;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    const { key, name, label } = this;
    const options = {
      waitTime: Infinity,
      fair: true,
      operation: ELECTION_OPERATION,
      label: label ?? `leader of ${name}`,
    };
    let failures = 0;
    for (;;) {
      try {
        const handle = await this.locks.acquire(key, { ...options, signal });
        failures = 0;
        await this.lead(handle);
        if (this.failedTerms > 0 && !this.isStopped) await this.pauseAfterFailure();
      } catch (error) {
        if (this.isStopped || error instanceof LockClosedError) return;
        if (failures === 0) this.log.warn(`No leader of "${name}" can be elected: ${textOf(error)}`);
        await pause(PAUSES[Math.min(failures, PAUSES.length - 1)] ?? 0, signal);
        failures += 1;
      }
    }
  }

  private async lead(handle: LockHandle): Promise<void> {
    expectLongHold(handle);
    const term = new Term(this.name, handle, this.log);
    this.current = term;
    if (this.isStopped) void term.end('closed');
    this.log.log(`This process is the leader of "${this.name}" now, with token ${String(handle.token)}.`);
    this.events.next(term.elected);
    let hasFailed = false;
    const work = this.call('elected', term, () => {
      if (hasFailed) return;
      hasFailed = true;
      this.failedTerms += 1;
      void term.end('failed');
    });
    void work.then(() => {
      if (!hasFailed) this.failedTerms = 0;
    });
    const reason = await term.ended;
    const { election, token } = term;
    const event: RevokedEvent = { type: 'revoked', election, token, reason, at: Date.now() };
    this.log.log(`This process is no longer the leader of "${this.name}": ${reason}.`);
    this.events.next(event);
    // Until the work has ended, the lock is neither released nor acquired again by this process.
    await Promise.all([work, this.call('revoked', event)]);
    try {
      await term.release();
    } finally {
      this.current = undefined;
    }
  }

  /** A leader that does nothing would keep the others from leading. It gets its next chance later and later. */
  private async pauseAfterFailure(): Promise<void> {
    const ms = PAUSES_AFTER_WORK[Math.min(this.failedTerms, PAUSES_AFTER_WORK.length) - 1] ?? 0;
    this.log.warn(`This process is a candidate for "${this.name}" again in ${shownDuration(ms)}.`);
    await pause(ms, this.stopping.signal);
  }

  /** @param onFailed called for each method that throws during its leadership, not because that has ended */
  private async call(
    event: LeadershipEvent['type'],
    argument: Leadership | RevokedEvent,
    onFailed?: () => void,
  ): Promise<void> {
    const calls = this.handlers[event].map(async (handler) => {
      try {
        await handler(argument);
      } catch (error) {
        const what = `A method for the election "${this.name}" threw`;
        if (onFailed === undefined || ('signal' in argument && argument.signal.aborted)) {
          this.log.warn(`${what}: ${textOf(error)}`);
          return;
        }
        this.log.error(`${what}, so its leadership ends and another process can lead: ${textOf(error)}`);
        onFailed();
      }
    });
    await Promise.all(calls);
  }
}

class Term implements Leadership {
  readonly elected: ElectedEvent;
  /** Resolves with the first reason. */
  readonly ended = new Deferred<RevocationReason>();
  private readonly released = new Deferred<unknown>();
  private readonly controller: AbortController;

  constructor(
    readonly election: string,
    private readonly handle: LockHandle,
    log: ElectionLog,
  ) {
    this.controller = guardedController((error) =>
      log.warn(`A listener of a leadership's signal threw: ${textOf(error)}`),
    );
    this.elected = { type: 'elected', election, token: handle.token, at: Date.now() };
    const { signal } = handle;
    const lost = (): void => {
      const cause: unknown = signal.reason;
      this.abort(cause instanceof LockLostError ? cause.reason : 'expired', cause);
    };
    if (signal.aborted) lost();
    else signal.addEventListener('abort', lost, { once: true });
  }

  get token(): number {
    return this.handle.token;
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get isLeader(): boolean {
    return !this.signal.aborted && this.handle.isHeld;
  }

  /** Resolves when the lock has been released. */
  async end(reason: RevocationReason): Promise<void> {
    this.abort(reason, new Error(`no longer the leader of "${this.election}": ${reason}`));
    await this.released;
  }

  async release(): Promise<void> {
    this.released.resolve(await this.handle.release());
  }

  private abort(reason: RevocationReason, cause: unknown): void {
    if (this.signal.aborted) return;
    this.ended.resolve(reason);
    this.controller.abort(cause);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    }
  });
}
