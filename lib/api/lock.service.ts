import type { Observable } from 'rxjs';
import { isPromiseLike } from '../common/pending-reply.js';
import type { CallsInFlight } from '../engine/scope/calls-in-flight.js';
import type { CallSite } from '../engine/events/call-site.js';
import type { Hold } from '../engine/hold/hold.js';
import type { MultiHold } from '../engine/hold/multi-hold.js';
import type { LockEngine } from '../engine/lock-engine.js';
import { holdChannel, isTraced } from '../model/lock-channels.js';
import { traceHold } from '../engine/events/traces.js';
import { callInScope, openScope } from '../engine/scope/scope.js';
import { originate } from '../model/error-origin.js';
import { LockError, LockNotHeldError, LockOptionsError, LockTimeoutError } from '../model/lock.errors.js';
import type { LockEvent } from '../model/lock.events.js';
import type { LockHandle } from '../model/lock-handle.js';
import type { LockInfo, LockList, LockListOptions } from '../model/lock-info.js';
import type { HeldLock, LockStatus, LostLock, WaitingCall } from '../model/lock-status.js';
import { checkKey, checkKeys, type LockKey } from '../model/lock-key.js';
import type { LockOptions } from '../model/lock.options.js';
import {
  checkBreakOptions,
  checkHoldBreakOptions,
  type LockBreakOptions,
  type LockBreakOutcome,
} from '../model/lock-break.options.js';
import { resolveListOptions } from '../model/resolved-list.options.js';
import { resolveLockOptions, type ResolvedLockOptions } from '../model/resolved-lock.options.js';
import { shown } from '../model/option-checks.js';
import type { LockBoard, MonotonicMs } from '../stores/port/lock-store.js';
import { take, tellEnded } from './calls.js';
import { lossOf } from './give-back.js';

/** Work under a lock. */
export type LockedWork<T> = (lock: LockHandle) => Promise<T> | T;

/** What counts the calls that shutdown lets come to their end; a stand-in for the service has none. */
export let callsOf: (service: LockService) => CallsInFlight | undefined;

/** Where processes tell each other how they are, if the store has such a place. */
export let boardOf: (service: LockService) => LockBoard | undefined;

/**
 * Takes locks. Inject it; `DistributedLockModule` provides it.
 *
 * Every method throws a {@link LockOptionsError} for a bad key or option before anything is sent. Methods that ask the store
 * (`withLock`, `acquire`, `tryAcquire`, `isLocked`, `inspect`, `list`, `forceRelease`, `breakHold`) also throw a
 * `LockUnavailableError` when it can't be asked, and a `LockClosedError` once the application has shut down what uses locks. The
 * others answer from what this process knows.
 */
export class LockService {
  static {
    callsOf = (service) => ('engine' in service ? service.engine.shutdown.calls : undefined);
    boardOf = (service) => ('engine' in service ? service.engine.board : undefined);
  }

  constructor(
    private readonly engine: LockEngine,
    private readonly defaultWaitTime: number,
    private readonly defaultMaxWaiting = Infinity,
  ) {}

  /** What happens to the locks of this process. A listener that throws is logged and breaks nothing. */
  get events(): Observable<LockEvent> {
    return this.engine.context.hub.events;
  }

  /**
   * Runs `fn` under the lock, and gives the lock back when its promise settles. Its outcome is passed on as it is;
   * inside, taking the same key again is re-entry. Several keys are taken all or none, and are one lock to `fn`.
   *
   * It goes on when the release is on its way to the store, and does not wait for the reply; with `onLost: 'throw'` it
   * does. Whatever is asked through this service afterwards finds the lock given back.
   *
   * @throws LockTimeoutError when others held the lock until `waitTime` ended, LockQueueFullError when `maxWaiting` callers
   * wait already; whatever `fn` throws
   */
  async withLock<T>(key: LockKey, fn: LockedWork<T>): Promise<T>;
  async withLock<T>(key: LockKey, options: LockOptions, fn: LockedWork<T>): Promise<T>;
  async withLock<T>(
    key: LockKey,
    optionsOrFn: LockOptions | LockedWork<T>,
    maybeFn?: LockedWork<T>,
  ): Promise<T> {
    const options = typeof optionsOrFn === 'function' ? undefined : optionsOrFn;
    const fn = typeof optionsOrFn === 'function' ? optionsOrFn : maybeFn;
    if (typeof fn !== 'function' || (fn === optionsOrFn && maybeFn !== undefined)) {
      throw new LockOptionsError(
        `withLock(): the last argument must be the function to run under the lock; got ${shown(fn)}.`,
      );
    }
    let resolved: ResolvedLockOptions | undefined;
    let hold: Hold | MultiHold;
    const calledAt = this.timeIfObserved;
    try {
      resolved = resolveLockOptions('withLock()', options, this.defaultWaitTime, this.defaultMaxWaiting);
      hold = await take(this.engine, checkKeys('withLock()', key), resolved);
    } catch (error) {
      throw this.failed(error, key, resolved, calledAt);
    }
    let result: T;
    const scope = openScope(hold);
    try {
      const outcome = isTraced(holdChannel)
        ? traceHold(this.engine.context.instance, hold, () => callInScope(scope, fn, hold))
        : callInScope(scope, fn, hold);
      // A turn of the microtask queue, and a promise, only for work that has to be waited for.
      result = isPromiseLike(outcome) ? await outcome : outcome;
    } finally {
      scope.open = false;
      try {
        const sent = hold.giveBack();
        if (sent !== undefined) await sent;
      } catch {
        // A store of the user's; the outcome of the work is not to be masked.
      }
    }
    if (resolved.onLost === 'report') return result;
    const lost = await lossOf(hold, result);
    if (lost === undefined) return result;
    throw originate(lost, this);
  }

  /**
   * Takes the lock and leaves it to the caller to `release()` it; `await using` does so by itself. Later code of the
   * caller is not inside its scope unless it runs in `handle.run(fn)`.
   *
   * @throws LockTimeoutError when others held the lock until `waitTime` ended, LockQueueFullError when `maxWaiting` callers
   * wait already
   */
  async acquire(key: LockKey, options?: LockOptions): Promise<LockHandle> {
    let resolved: ResolvedLockOptions | undefined;
    const calledAt = this.timeIfObserved;
    const site = this.engine.context.callSites.capture();
    try {
      resolved = resolveLockOptions('acquire()', options, this.defaultWaitTime, this.defaultMaxWaiting);
      return opened(await take(this.engine, checkKeys('acquire()', key), resolved), site);
    } catch (error) {
      throw this.failed(error, key, resolved, calledAt);
    }
  }

  /** Like `acquire`, but tries only once unless a `waitTime` is given, and returns null when others hold the lock. */
  async tryAcquire(key: LockKey, options?: LockOptions): Promise<LockHandle | null> {
    let resolved: ResolvedLockOptions | undefined;
    const calledAt = this.timeIfObserved;
    const site = this.engine.context.callSites.capture();
    try {
      resolved = resolveLockOptions('tryAcquire()', options, 0, this.defaultMaxWaiting, true);
      return opened(await take(this.engine, checkKeys('tryAcquire()', key), resolved), site);
    } catch (error) {
      if (error instanceof LockTimeoutError) return null;
      throw this.failed(error, key, resolved, calledAt);
    }
  }

  /** Whether anybody holds the lock at the moment. */
  async isLocked(key: string): Promise<boolean> {
    return (await this.ask(() => this.engine.inspector.inspect(checkKey('isLocked()', key)))) !== null;
  }

  /** Who holds the lock, since when, until when, and how many callers wait; null when it is free. */
  async inspect(key: string): Promise<LockInfo | null> {
    return await this.ask(() => this.engine.inspector.inspect(checkKey('inspect()', key)));
  }

  /**
   * Which locks are held, by whom: some of them, and where to go on. What is taken or given back meanwhile may be missing or
   * there twice. The store looks at everything that it has under the prefix of the locks, so that this is for people, not
   * for the way of a request.
   *
   * @throws LockOptionsError for options that can't work, and where the store has no way to list its locks;
   * LockUnavailableError when the store can't be asked or refuses to list them
   */
  async list(options: LockListOptions = {}): Promise<LockList> {
    const resolved = resolveListOptions(options);
    return await this.ask(() => this.engine.inspector.list(resolved));
  }

  /**
   * Breaks the lock, whoever holds it, all readers or places of a semaphore at once; the next waiter gets it. The holder's
   * work goes on: it is told by its handle, but only fencing tokens keep it from writing. True if the lock was held, which a
   * `broken` event then tells, and with `by` the log, too.
   *
   * With `owner` or `token` only that hold is broken, as by {@link breakHold}, which also says why it was not.
   *
   * @throws LockOptionsError for options that can't work, such as a `token` that is undefined
   */
  async forceRelease(key: string, options: LockBreakOptions = {}): Promise<boolean> {
    checkBreakOptions(options);
    const checked = checkKey('forceRelease()', key);
    const { owner, token } = options;
    if (owner === undefined && token === undefined) {
      return await this.ask(() => this.engine.inspector.forceRelease(checked, options));
    }
    return (await this.ask(() => this.engine.inspector.breakHold(checked, options))) === 'broken';
  }

  /**
   * Breaks one hold, that of an `owner` or with a `token` as `inspect` tells them, and nothing else: a hold that began since
   * then stays, and so do the other readers, or places of a semaphore. The store compares and breaks in one step.
   *
   * The holder's work goes on, as with {@link forceRelease}.
   *
   * @throws LockOptionsError for options that can't work, or that name neither an owner nor a token
   */
  async breakHold(key: string, options: LockBreakOptions): Promise<LockBreakOutcome> {
    checkHoldBreakOptions(options);
    return await this.ask(() => this.engine.inspector.breakHold(checkKey('breakHold()', key), options));
  }

  /** The locks that this process holds by this module instance, the oldest hold first. Asks nobody. */
  held(): readonly HeldLock[] {
    return this.engine.overview.held();
  }

  /** The calls of this process that wait for a lock of this module instance, the one that waits longest first. Asks nobody. */
  waiting(): readonly WaitingCall[] {
    return this.engine.overview.waiting();
  }

  /**
   * The last holds of this process that ended before they were released: those of five minutes, at most 100, the newest
   * first. Asks nobody.
   */
  lost(): readonly LostLock[] {
    return this.engine.overview.lost();
  }

  /** How the store and the locks of this process are, as far as this process knows. Asks nobody; see {@link probe}. */
  status(): LockStatus {
    return this.engine.overview.status();
  }

  /**
   * Asks the store whether it is there, and answers {@link status} with what came of that. Never throws; takes as long as
   * a request to the store may take.
   */
  async probe(): Promise<LockStatus> {
    await this.engine.overview.probe();
    return this.engine.overview.status();
  }

  /**
   * The innermost hold of this async context, of `key` or of any key; undefined outside of a scope. Of keys that were
   * taken together it is the hold of that one key, or without `key` the hold of all of them.
   */
  current(key?: string): LockHandle | undefined {
    return this.engine.current(key === undefined ? undefined : checkKey('current()', key));
  }

  /**
   * Call it before a step that must not happen without the lock.
   *
   * @throws LockLostError if the hold of this async context was lost, LockNotHeldError if it has none of this key or the
   * hold is not sure until the store has confirmed it (see {@link LockHandle.isHeld})
   */
  assertHeld(key: string): void {
    const hold = this.engine.owned(checkKey('assertHeld()', key));
    if (hold === undefined) {
      const error = new LockNotHeldError(
        `The lock "${key}" is not held here. Call assertHeld() inside withLock(), a @Locked method or handle.run().`,
        { keys: [key] },
      );
      throw originate(error, this);
    }
    hold.assertHeld();
  }

  private async ask<T>(question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      throw originate(error, this);
    }
  }

  /** When a call began, if somebody may want to know. */
  private get timeIfObserved(): MonotonicMs | undefined {
    const { hub, clock } = this.engine.context;
    return hub.observed ? clock.monotonic() : undefined;
  }

  /** What a call throws that got no lock. */
  private failed(
    error: unknown,
    key: LockKey,
    options: ResolvedLockOptions | undefined,
    calledAt: MonotonicMs | undefined,
  ): unknown {
    if (options !== undefined && calledAt !== undefined) {
      tellEnded(this.engine, error, key, options, calledAt);
    }
    // Most errors come from a timer; from here the trace leads to the code that asked.
    if (error instanceof LockError) Error.captureStackTrace(error);
    return originate(error, this);
  }
}

/** A hold that its caller has to release. */
function opened(hold: Hold | MultiHold, site: CallSite): LockHandle {
  hold.open(site);
  return hold;
}
