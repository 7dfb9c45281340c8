import { LockEngine } from '../engine/lock-engine.js';
import type { LockBreakOptions, LockBreakOutcome } from '../model/inspect.options.js';
import type { LockHandle } from '../model/lock-handle.js';
import type { LockInfo, LockList, LockListOptions } from '../model/lock-info.js';
import type { HeldLock, LockStatus, LostLock, WaitingCall } from '../model/lock-status.js';
import type { LockKey } from '../model/lock-key.js';
import type { LockOptions } from '../model/lock.options.js';
import { LockService, type LockedWork } from '../api/lock.service.js';
import { NO_LOG, SETTINGS, TestLockStore, type TestLockStoreOptions } from './test-lock-store.js';

/** Default of `waitTime`, ms: the same as that of the module. */
const WAIT_TIME = 5_000;

/** The methods of `LockService`, whose calls are recorded. */
export type RecordedMethod =
  | 'withLock'
  | 'acquire'
  | 'tryAcquire'
  | 'isLocked'
  | 'inspect'
  | 'forceRelease'
  | 'breakHold'
  | 'list'
  | 'held'
  | 'waiting'
  | 'lost'
  | 'status'
  | 'probe'
  | 'current'
  | 'assertHeld';

/** One call of a method of {@link FakeLockService}. Arguments that were not given are left out. */
export interface LockCall {
  readonly method: RecordedMethod;
  readonly key?: LockKey;
  readonly options?: LockOptions;
}

/**
 * A `LockService` for the unit test of a class: `new Payments(bank, new FakeLockService())`. It grants free locks at once, with
 * working handles, records the calls, and can make a key busy, lost or unavailable.
 */
export class FakeLockService extends LockService {
  /** The store behind it; `store.advance` advances the time. */
  readonly store: TestLockStore;

  private readonly recorded: LockCall[] = [];
  private readonly busy = new Map<unknown, LockHandle>();

  constructor(options?: TestLockStoreOptions) {
    const store = new TestLockStore(options);
    super(new LockEngine(store, SETTINGS, NO_LOG), WAIT_TIME);
    this.store = store;
  }

  /** The calls so far, the oldest first. */
  get calls(): readonly LockCall[] {
    return this.recorded;
  }

  /**
   * From now on another process holds the key: calls for it fail with a `LockTimeoutError` at once, whatever their
   * `waitTime`, and `tryAcquire` returns null.
   */
  async setBusy(key: string): Promise<void> {
    if (!this.busy.has(key)) this.busy.set(key, await this.store.hold(key));
  }

  /** Ends {@link setBusy}. */
  async setFree(key: string): Promise<void> {
    const handle = this.busy.get(key);
    this.busy.delete(key);
    await handle?.release();
  }

  /** From now on calls for the key, or all calls, fail with a `LockUnavailableError` at once. */
  setUnavailable(key?: string): void {
    this.store.setUnavailable(key);
  }

  /** Ends {@link setUnavailable} for this key, or for all keys. */
  setAvailable(key?: string): void {
    this.store.setAvailable(key);
  }

  /**
   * Makes the code under test lose a lock that it holds: the `signal` of its handle aborts with a `LockLostError` whose
   * reason is `'taken'`.
   *
   * @throws Error when the lock is free
   */
  async lose(key: string): Promise<void> {
    await this.store.lose(key);
  }

  /** Clears {@link calls}. */
  clearCalls(): void {
    this.recorded.length = 0;
  }

  override withLock<T>(key: LockKey, fn: LockedWork<T>): Promise<T>;
  override withLock<T>(key: LockKey, options: LockOptions, fn: LockedWork<T>): Promise<T>;
  override async withLock<T>(
    key: LockKey,
    optionsOrFn: LockOptions | LockedWork<T>,
    maybeFn?: LockedWork<T>,
  ): Promise<T> {
    if (typeof optionsOrFn === 'function') {
      this.record('withLock', key);
      return await super.withLock(key, this.optionsFor(key) ?? {}, optionsOrFn);
    }
    this.record('withLock', key, optionsOrFn);
    // The real service throws the error for a missing function.
    if (maybeFn === undefined) return await super.withLock(key, optionsOrFn as unknown as LockedWork<T>);
    return await super.withLock(key, this.optionsFor(key, optionsOrFn) ?? {}, maybeFn);
  }

  override async acquire(key: LockKey, options?: LockOptions): Promise<LockHandle> {
    this.record('acquire', key, options);
    return await super.acquire(key, this.optionsFor(key, options));
  }

  override async tryAcquire(key: LockKey, options?: LockOptions): Promise<LockHandle | null> {
    this.record('tryAcquire', key, options);
    return await super.tryAcquire(key, this.optionsFor(key, options));
  }

  override async isLocked(key: string): Promise<boolean> {
    this.record('isLocked', key);
    return await super.isLocked(key);
  }

  override async inspect(key: string): Promise<LockInfo | null> {
    this.record('inspect', key);
    return await super.inspect(key);
  }

  override async forceRelease(key: string, options?: LockBreakOptions): Promise<boolean> {
    this.record('forceRelease', key);
    return await super.forceRelease(key, options);
  }

  override async breakHold(key: string, options: LockBreakOptions): Promise<LockBreakOutcome> {
    this.record('breakHold', key);
    return await super.breakHold(key, options);
  }

  override async list(options?: LockListOptions): Promise<LockList> {
    this.record('list');
    return await super.list(options);
  }

  override held(): readonly HeldLock[] {
    this.record('held');
    return super.held();
  }

  override waiting(): readonly WaitingCall[] {
    this.record('waiting');
    return super.waiting();
  }

  override status(): LockStatus {
    this.record('status');
    return super.status();
  }

  override lost(): readonly LostLock[] {
    this.record('lost');
    return super.lost();
  }

  override async probe(): Promise<LockStatus> {
    this.record('probe');
    return await super.probe();
  }

  override current(key?: string): LockHandle | undefined {
    this.record('current', key);
    return super.current(key);
  }

  override assertHeld(key: string): void {
    this.record('assertHeld', key);
    super.assertHeld(key);
  }

  /** Calls for a busy key do not wait. */
  private optionsFor(key: LockKey, options?: LockOptions): LockOptions | undefined {
    const keys: readonly unknown[] = Array.isArray(key) ? key : [key];
    if (!keys.some((one) => this.busy.has(one))) return options;
    return { ...options, waitTime: 0, retry: undefined };
  }

  private record(method: RecordedMethod, key?: LockKey, options?: LockOptions): void {
    this.recorded.push({
      method,
      ...(key !== undefined && { key }),
      // Copied without the symbols that a decorator adds.
      ...(options !== undefined && { options: Object.fromEntries(Object.entries(options)) }),
    });
  }
}
