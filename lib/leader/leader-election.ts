import { AsyncLocalStorage } from 'node:async_hooks';
import { Subject, type Observable } from 'rxjs';
import { GuardedObservable, guardedController, harmless, textOf } from '../engine/report/event-hub.js';
import { Deferred } from '../common/deferred.js';
import { shownDuration } from '../common/durations.js';
import { expectLongHold } from '../engine/long-holds.js';
import type { LockHandle } from '../model/lock-handle.js';
import { ELECTION_OPERATION } from '../model/lock-kind.js';
import {
  LockClosedError,
  LockLostError,
  LockOptionsError,
  type LockLostReason,
} from '../model/lock.errors.js';
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
  /**
   * Aborted when the leadership ends: with a `LockLostError`, or with an `Error` that names the reason. Each read of `aborted`
   * checks the clock.
   */
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

/** A method that still runs so long after the end of its leadership, ms, is reported. */
const OVERDUE = 2_000;

/** A call of a method under `@OnElected` or `@OnRevoked`. */
interface MethodCall {
  readonly name: string;
  readonly term: Term;
}

/** The call whose code runs. */
const callStorage = new AsyncLocalStorage<MethodCall>();

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
  private readonly handlers: Readonly<Record<LeadershipEvent['type'], Map<ElectionHandler, string>>> = {
    elected: new Map(),
    revoked: new Map(),
  };
  private readonly stopping = new AbortController();
  private readonly stopped = new Promise<void>((resolve) =>
    this.stopping.signal.addEventListener('abort', () => resolve(), { once: true }),
  );
  /** Calls of methods that have not ended. */
  private readonly calls = new Set<MethodCall>();
  /** From the election until the lock is released. */
  private current: Term | undefined;
  /** How many leaderships in a row ended because a method threw. */
  private failedTerms = 0;
  private readonly log: ElectionLog;
  private running: Promise<void> | undefined;

  /**
   * @param key the lock that the leader holds
   * @param stopTimeout how long its methods may run after their leadership has ended, ms, before the lock is released
   */
  constructor(
    readonly name: string,
    readonly key: string,
    private readonly locks: LeaderLocks,
    log: ElectionLog,
    private readonly label?: string,
    private readonly stopTimeout = 10_000,
  ) {
    const errors = harmless({ log: () => undefined, warn: (message) => log.error(message) });
    this.log = { ...harmless(log), error: (message) => errors.warn(message) };
    const warn = (message: string): void => this.log.warn(message);
    this.leadership$ = new GuardedObservable<LeadershipEvent>(warn, (subscriber) => {
      if (this.current?.isOver === false) subscriber.next(this.current.elected);
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
   * `@OnElected` and `@OnRevoked`, but no longer than `stopTimeout`, and releases the lock for the next candidate. This
   * process then queues behind the others, and leads again at once if there are none.
   *
   * @throws LockOptionsError if one of these methods awaits it, since it waits for that method
   */
  resign(): Promise<void> {
    const term = this.current;
    if (term === undefined) return Promise.resolve();
    const ended = term.end('resigned');
    if (callStorage.getStore()?.term !== term) return ended;
    const within = Promise.race([ended, term.overdue]);
    // Most methods call it without `await`.
    within.catch(() => undefined);
    return within;
  }

  /** Whether a method under `@OnElected` threw in the latest leadership of this process. */
  get hasFailed(): boolean {
    return this.failedTerms > 0;
  }

  /** The methods that still run 2 s after their leadership has ended. */
  get overdue(): readonly string[] {
    return [...this.calls].filter(({ term }) => term.isOverdue).map(({ name }) => name);
  }

  /**
   * Adds a method to call, for `@OnElected` and `@OnRevoked`. If this process leads already, a method for `elected` is called
   * at once.
   *
   * @param name of the method, for messages
   */
  handle(event: LeadershipEvent['type'], handler: ElectionHandler, name = 'A method'): void {
    this.handlers[event].set(handler, name);
    const term = this.current;
    if (event === 'elected' && term?.work !== undefined) term.work.push(this.work(term, handler, name));
  }

  /** Makes this process a candidate; only once. */
  start(): void {
    if (!this.isStopped) this.running ??= this.run();
  }

  /**
   * Withdraws the candidate, or resigns; resolves when the work of the leader has ended, or `stopTimeout` has, and the lock is
   * released. Nothing begins afterwards.
   */
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
    // Granted while the election was being stopped.
    if (this.isStopped) return void (await handle.release());
    expectLongHold(handle);
    const { name: election } = this;
    const term = new Term(election, handle, this.log);
    this.current = term;
    this.log.log(`This process is the leader of "${election}" now, with token ${String(term.token)}.`);
    this.events.next(term.elected);
    // A subscriber may have ended it.
    const begins = !term.isOver;
    if (begins) {
      term.work = [];
      for (const [handler, name] of this.handlers.elected) term.work.push(this.work(term, handler, name));
      void Promise.all(term.work).then(() => {
        if (!term.hasFailed) this.failedTerms = 0;
      });
    }
    const reason = await term.ended;
    const event: RevokedEvent = { type: 'revoked', election, token: term.token, reason, at: Date.now() };
    this.log.log(`This process is no longer the leader of "${election}": ${reason}.`);
    this.events.next(event);
    const { work = [] } = term;
    term.work = undefined;
    if (begins) {
      for (const [handler, name] of this.handlers.revoked) work.push(this.call(term, event, handler, name));
    }
    const ended = Promise.all(work);
    await this.endInTime(ended, term, reason);
    try {
      await term.release();
    } finally {
      this.current = undefined;
    }
    // This process would run the same methods a second time.
    if (this.calls.size > 0) await Promise.race([ended, this.stopped]);
  }

  /** Waits for the methods of a leadership that has ended, but no longer than `stopTimeout`. */
  private async endInTime(work: Promise<unknown>, term: Term, reason: RevocationReason): Promise<void> {
    const { name, stopTimeout } = this;
    const first = Math.min(OVERDUE, stopTimeout);
    if (await endsWithin(first, work)) return;
    const running = (): string => [...this.calls].map((call) => call.name).join(', ');
    const again = 'This process is a candidate again when they have ended.';
    const isLocked = reason === 'resigned' || reason === 'closed' || reason === 'failed';
    term.overdue.reject(
      new LockOptionsError(
        `resign() of the election "${name}" waits for the methods under @OnElected and @OnRevoked, so none of them can await it. Call it without await, and return.`,
      ),
    );
    term.isOverdue = true;
    if (stopTimeout > first) {
      const left = shownDuration(stopTimeout - first);
      const next = isLocked ? `No other process can lead meanwhile, for at most another ${left}.` : again;
      this.log.warn(
        `The leadership of "${name}" has ended (${reason}), but methods still run: ${running()}. ${next} Let methods return when their signal is aborted.`,
      );
      if (await endsWithin(stopTimeout - first, work)) return;
    }
    const next = isLocked ? 'The lock is released, so another process can lead meanwhile. ' : '';
    this.log.error(
      `The leadership of "${name}" ended ${shownDuration(stopTimeout)} ago, but methods still run: ${running()}. ${next}${again}`,
    );
  }

  /** A leader that does nothing would keep the others from leading. It gets its next chance later and later. */
  private async pauseAfterFailure(): Promise<void> {
    const ms = PAUSES_AFTER_WORK[Math.min(this.failedTerms, PAUSES_AFTER_WORK.length) - 1] ?? 0;
    this.log.warn(`This process is a candidate for "${this.name}" again in ${shownDuration(ms)}.`);
    await pause(ms, this.stopping.signal);
  }

  /** Calls a method under `@OnElected`. */
  private async work(term: Term, handler: ElectionHandler, method: string): Promise<void> {
    // A method before it may have ended the leadership.
    if (term.isOver) return;
    await this.call(term, term, handler, method, (error) => {
      if (term.isOver) return false;
      this.log.error(
        `${method} for the election "${this.name}" threw, so its leadership ends and another process can lead: ${textOf(error)}`,
      );
      term.hasFailed = true;
      this.failedTerms += 1;
      void term.end('failed');
      return true;
    });
  }

  /** @param failed returns whether it has handled the error */
  private async call(
    term: Term,
    argument: Leadership | RevokedEvent,
    handler: ElectionHandler,
    name: string,
    failed: (error: unknown) => boolean = () => false,
  ): Promise<void> {
    const call: MethodCall = { name, term };
    this.calls.add(call);
    try {
      await callStorage.run(call, async () => await handler(argument));
    } catch (error) {
      if (!failed(error)) this.log.warn(`${name} for the election "${this.name}" threw: ${textOf(error)}`);
    } finally {
      this.calls.delete(call);
    }
  }
}

class Term implements Leadership {
  readonly elected: ElectedEvent;
  /** Resolves with the first reason. */
  readonly ended = new Deferred<RevocationReason>();
  /** Rejects when methods still run long after the end. */
  readonly overdue = new Deferred<never>();
  isOverdue = false;
  hasFailed = false;
  /** The methods under `@OnElected`; undefined unless they may begin. */
  work: Promise<void>[] | undefined;
  private readonly released = new Deferred<unknown>();
  private readonly controller: AbortController;

  constructor(
    readonly election: string,
    private readonly handle: LockHandle,
    log: ElectionLog,
  ) {
    const { signal } = handle;
    this.controller = guardedController(
      (error) => log.warn(`A listener of a leadership's signal threw: ${textOf(error)}`),
      () => void signal.aborted,
    );
    this.elected = { type: 'elected', election, token: handle.token, at: Date.now() };
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
    return !this.isOver && this.handle.isHeld;
  }

  /** Reads the clock. */
  get isOver(): boolean {
    return this.signal.aborted;
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
    if (this.isOver) return;
    this.ended.resolve(reason);
    this.controller.abort(cause);
  }
}

/** Whether it settles in this time, ms. */
async function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  // A process that has shut down does not wait for it.
  const late = new Promise<false>((resolve) => (timer = setTimeout(resolve, ms, false).unref()));
  const inTime = await Promise.race([work.then(() => true), late]);
  clearTimeout(timer);
  return inTime;
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
