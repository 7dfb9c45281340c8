import type { Observable } from 'rxjs';
import { type CallsInFlight, isPromiseLike } from '../common/deferred.js';
import { checkSupported } from '../engine/acquire.js';
import type { CallSite } from '../engine/report/call-site.js';
import { isAbortReason, outcomeOf, traceAcquire, traceHold } from '../engine/report/traces.js';
import type { Hold } from '../engine/hold.js';
import type { MultiHold } from '../engine/multi-hold.js';
import type { LockEngine } from '../engine/lock-engine.js';
import { openScope, workInScope } from '../engine/scope.js';
import { acquireChannel, holdChannel, isTraced } from '../model/lock-channels.js';
import {
  type ErrorOrigin,
  LockError,
  LockNotHeldError,
  LockOptionsError,
  LockTimeoutError,
  originate,
  requestFrom,
} from '../model/lock.errors.js';
import type { LockEvent } from '../model/lock.events.js';
import type { LockHandle } from '../model/lock-handle.js';
import { checkKey, checkKeys, type LockKey } from '../model/lock-key.js';
import { refusalOf } from '../model/late-work.js';
import { checkReceiver, shown } from '../model/option-checks.js';
import {
  DECORATED,
  resolveLockOptions,
  type CallDefaults,
  type LockOptions,
  type ResolvedLockOptions,
} from '../model/lock.options.js';
import type { MonotonicMs } from '../stores/port/lock-store.js';
import { lossOf } from './end-of-work.js';

/** Work under a lock. */
export type LockedWork<T> = (lock: LockHandle) => Promise<T> | T;

/**
 * Acquires locks. Inject it; `DistributedLockModule` provides it. To inspect and break locks, inject `LockAdmin`.
 *
 * Every method throws a {@link LockOptionsError} for an invalid key or option before anything is sent. Methods that use
 * the store (`withLock`, `acquire`, `tryAcquire`, `isLocked`) also throw a `LockUnavailableError` when it is
 * unreachable or rejects the request, and a `LockClosedError` once the application has shut down everything that uses
 * locks. Calls that acquire a lock also throw a `LockConflictError` if others use another `limit` or `mode`, a
 * `LockUpgradeError` where they would wait for their own hold, a `LockUnsupportedError` for an option that the store does
 * not support, and the reason of their `signal` if that ends the wait. The other methods return what this process knows.
 */
export class LockService {
  constructor(
    private readonly engine: LockEngine,
    private readonly defaultWaitTime: number,
    private readonly defaults: CallDefaults = {},
  ) {}

  /** Events of the locks of this process. An error in a listener is logged and has no other effect. */
  get events(): Observable<LockEvent> {
    return this.engine.hub.events;
  }

  /**
   * Runs `fn` under the lock, releases the lock when its promise settles, and returns or throws what `fn` does.
   * Acquiring the same key again inside `fn` re-enters the lock. Several keys are acquired all or none, and `fn` holds
   * them as one lock.
   *
   * It returns when the release has been sent and does not wait for the reply, unless `onLost` is `'throw'`. (It also
   * waits on etcd, and on ZooKeeper while other requests are in flight.) Later calls of this service already see the lock
   * as released.
   *
   * @throws LockTimeoutError if the lock was still held when `waitTime` ended; LockQueueFullError if `maxWaiting`
   * callers are waiting already; LockLostError with `onLost: 'throw'`; LockOptionsError if `fn` returns an Observable, an
   * async iterable or a stream, whose work would begin after the release; whatever `fn` throws
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
    checkReceiver(this, 'withLock', 'LockService', 'locks');
    if (typeof fn === 'function' && fn === optionsOrFn && maybeFn !== undefined) {
      throw new LockOptionsError(
        'withLock(): the options come before the function: withLock(key, options, fn), not withLock(key, fn, options).',
      );
    }
    if (typeof fn !== 'function') {
      throw new LockOptionsError(
        `withLock(): the last argument must be the function to run under the lock; got ${shown(fn)}.`,
      );
    }
    let resolved: ResolvedLockOptions | undefined;
    let hold: Hold | MultiHold;
    const calledAt = this.timeIfObserved;
    try {
      resolved = resolveLockOptions('withLock()', options, this.defaultWaitTime, this.defaults);
      hold = await acquireTraced(this.engine, checkKeys('withLock()', key), resolved);
    } catch (error) {
      throw this.failed(error, key, resolved, calledAt);
    }
    let result: T;
    const scope = openScope(hold);
    try {
      const outcome = isTraced(holdChannel)
        ? traceHold(this.engine.instance, hold, () => workInScope(scope, fn, hold))
        : workInScope(scope, fn, hold);
      // Synchronous work costs no promise and no microtask.
      result = isPromiseLike(outcome) ? await outcome : outcome;
      const refused = typeof result === 'object' ? refusalOf('withLock(): the function', result) : undefined;
      if (refused !== undefined) throw originate(refused, this.engine);
    } finally {
      scope.open = false;
      try {
        const sent = hold.sendRelease();
        if (sent !== undefined) await sent;
      } catch {
        // A custom store may throw; that must not mask the outcome of the work.
      }
    }
    if (resolved.onLost === 'report') return result;
    const lost = await lossOf(hold, result);
    if (lost === undefined) return result;
    throw originate(lost, this.engine);
  }

  /**
   * Acquires the lock; the caller has to `release()` it, or declare the handle with `await using`. Only code inside
   * `handle.run(fn)` runs in the scope of the lock.
   *
   * @throws LockTimeoutError if the lock was still held when `waitTime` ended; LockQueueFullError if `maxWaiting`
   * callers are waiting already
   */
  async acquire(key: LockKey, options?: LockOptions): Promise<LockHandle> {
    checkReceiver(this, 'acquire', 'LockService', 'locks');
    let resolved: ResolvedLockOptions | undefined;
    const calledAt = this.timeIfObserved;
    // The application has no handle to release: `@Locked` releases the lock of a handler.
    const isDecorated = options !== undefined && DECORATED in (Object(options) as object);
    const site = isDecorated ? undefined : this.engine.callSites.capture();
    try {
      resolved = resolveLockOptions('acquire()', options, this.defaultWaitTime, this.defaults);
      const hold = await acquireTraced(this.engine, checkKeys('acquire()', key), resolved);
      return site === undefined ? hold : opened(hold, site);
    } catch (error) {
      throw this.failed(error, key, resolved, calledAt);
    }
  }

  /**
   * Like `acquire`, but `waitTime` defaults to 0, a single attempt, and the result is null if the lock is held.
   *
   * @throws LockQueueFullError with a `waitTime`, if `maxWaiting` callers are waiting already
   */
  async tryAcquire(key: LockKey, options?: LockOptions): Promise<LockHandle | null> {
    checkReceiver(this, 'tryAcquire', 'LockService', 'locks');
    let resolved: ResolvedLockOptions | undefined;
    const calledAt = this.timeIfObserved;
    const site = this.engine.callSites.capture();
    try {
      resolved = resolveLockOptions('tryAcquire()', options, 0, this.defaults, true);
      return opened(await acquireTraced(this.engine, checkKeys('tryAcquire()', key), resolved), site);
    } catch (error) {
      if (error instanceof LockTimeoutError && !(resolved && isAbortReason(error, resolved))) return null;
      throw this.failed(error, key, resolved, calledAt);
    }
  }

  /** Whether the lock is held by any process. */
  async isLocked(key: string): Promise<boolean> {
    checkReceiver(this, 'isLocked', 'LockService', 'locks');
    return await requestFrom(this.engine, () => this.engine.inspector.isLocked(checkKey('isLocked()', key)));
  }

  /**
   * The innermost hold of this async context, of `key` or of any key; undefined outside of a scope. For keys acquired
   * together, it is the hold of that one key, or without `key` the hold of all of them.
   *
   * @throws LockLostError if that hold was lost
   */
  current(key?: string): LockHandle | undefined {
    checkReceiver(this, 'current', 'LockService', 'locks');
    return this.engine.current(key === undefined ? undefined : checkKey('current()', key));
  }

  /**
   * Call it before a step that must not happen without the lock.
   *
   * @throws LockLostError if the hold of this async context was lost; LockNotHeldError if this async context has no
   * hold of the key, or if the store has to confirm the hold first (see {@link LockHandle.isHeld})
   */
  assertHeld(key: string): void {
    checkReceiver(this, 'assertHeld', 'LockService', 'locks');
    const hold = this.engine.owned(checkKey('assertHeld()', key));
    if (hold === undefined) {
      const error = new LockNotHeldError(
        `The lock "${key}" is not held here. Call assertHeld() inside withLock(), a @Locked method or handle.run().`,
        { keys: [key] },
      );
      throw originate(error, this.engine);
    }
    hold.assertHeld();
  }

  /** The time of a call; undefined if nothing observes calls. */
  private get timeIfObserved(): MonotonicMs | undefined {
    const { hub, clock } = this.engine;
    return hub.observed ? clock.monotonic() : undefined;
  }

  /** The error of a call that failed to acquire a lock. */
  private failed(
    error: unknown,
    key: LockKey,
    options: ResolvedLockOptions | undefined,
    calledAt: MonotonicMs | undefined,
  ): unknown {
    if (options !== undefined && calledAt !== undefined) {
      const outcome = outcomeOf(error, options);
      // The engine emits the events of all other outcomes.
      if (outcome === 'aborted' || outcome === 'closed') {
        const [first = ''] = [key].flat().sort();
        this.engine.reporter.ended(outcome, { ...options, key: first }, calledAt);
      }
    }
    // The caller's own object, which may be frozen.
    if (options !== undefined && isAbortReason(error, options)) return error;
    // Most errors are created in a timer; a stack trace from here leads to the caller.
    if (error instanceof LockError) Error.captureStackTrace(error);
    return originate(error, this.engine);
  }
}

/** The calls that shutdown waits for; undefined if a test provides another object as the service. */
export function callsOf(service: LockService): CallsInFlight | undefined {
  return engineOf(service)?.shutdown.calls;
}

/** The module instance of a service, for its errors; undefined if a test provides another object as the service. */
export function errorOriginOf(service: LockService): ErrorOrigin | undefined {
  return engineOf(service);
}

/**
 * @throws LockUnsupportedError if the store of the service can't carry out calls with these options
 */
export function checkSupportedBy(service: LockService, options: ResolvedLockOptions): void {
  const engine = engineOf(service);
  if (engine !== undefined) checkSupported(engine.session, options);
}

/** Only the rest of the library may use the engine of a service. */
function engineOf(service: LockService): LockEngine | undefined {
  return (service as unknown as { readonly engine?: LockEngine }).engine;
}

/** Acquires one or several locks, and traces the call if there are subscribers. */
function acquireTraced(
  engine: LockEngine,
  keys: LockKey,
  options: ResolvedLockOptions,
): Promise<Hold | MultiHold> {
  if (!isTraced(acquireChannel)) return acquireUntraced(engine, keys, options);
  const { instance } = engine;
  return traceAcquire(instance, [keys].flat(), options, (traced) => acquireUntraced(engine, keys, traced));
}

function acquireUntraced(
  engine: LockEngine,
  keys: LockKey,
  options: ResolvedLockOptions,
): Promise<Hold | MultiHold> {
  return typeof keys === 'string' ? engine.acquire(keys, options) : engine.acquireAll(keys, options);
}

/** A hold that the caller must release. */
function opened(hold: Hold | MultiHold, site: CallSite): LockHandle {
  hold.open(site);
  return hold;
}
