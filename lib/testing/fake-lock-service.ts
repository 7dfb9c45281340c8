import { LockEngine } from '../engine/lock-engine.js';
import type { LockHandle } from '../model/lock-handle.js';
import type { LockKey } from '../model/lock-key.js';
import type { LockOptions } from '../model/lock.options.js';
import { LockAdmin } from '../api/lock-admin.js';
import { LockService, type LockedWork } from '../api/lock.service.js';
import { NO_LOG, SETTINGS, TestLockStore, type TestLockStoreOptions } from './test-lock-store.js';

/** Default of `waitTime`, ms: the same as that of the module. */
const WAIT_TIME = 5_000;

/** Methods whose calls are recorded; otherwise they are those of the real service. */
const PASSED_ON = ['isLocked', 'current', 'assertHeld'] as const;

type Methods = Readonly<Record<(typeof PASSED_ON)[number], (...args: never[]) => unknown>>;

/** The methods of `LockService`, whose calls are recorded. */
export type RecordedMethod = 'withLock' | 'acquire' | 'tryAcquire' | (typeof PASSED_ON)[number];

/** One call of a method of {@link FakeLockService}. Omitted arguments are missing. */
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
  /** Inspects and breaks the locks of this service, for a class that injects `LockAdmin`. */
  readonly admin: LockAdmin;

  private readonly recorded: LockCall[] = [];
  private readonly busy = new Map<unknown, LockHandle>();

  constructor(options?: TestLockStoreOptions) {
    const store = new TestLockStore(options);
    const engine = new LockEngine(store, SETTINGS, NO_LOG);
    super(engine, WAIT_TIME);
    this.store = store;
    this.admin = new LockAdmin(engine);
  }

  /** The calls so far, oldest first. */
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

  static {
    const real: Methods = LockService.prototype;
    for (const method of PASSED_ON) {
      const value = function (this: FakeLockService, ...args: never[]): unknown {
        this.record(method, args[0]);
        return real[method].apply(this, args);
      };
      Object.defineProperty(FakeLockService.prototype, method, { value, configurable: true, writable: true });
    }
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
