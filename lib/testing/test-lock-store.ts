import type { EngineLog } from '../engine/events/engine-log.js';
import { LockEngine, type EngineSettings } from '../engine/lock-engine.js';
import type { LockHandle } from '../model/lock-handle.js';
import type { LockKey } from '../model/lock-key.js';
import type { LockOptions } from '../model/lock.options.js';
import { LockService } from '../api/lock.service.js';
import { checkTime } from '../model/option-checks.js';
import type { LockStore, LockStoreClient, LockStoreSession } from '../stores/port/lock-store.js';
import { MemoryLocks } from '../stores/memory/memory-locks.js';
import { MemorySession } from '../stores/memory/memory-session.js';
import { TestClock } from './test-clock.js';
import { TestLockSession } from './test-lock-session.js';

/** For engines that no module has made: the defaults of the module. */
export const SETTINGS: EngineSettings = { watchdogTimeout: 30_000, shutdownTimeout: 0 };

/** A test is told by its assertions. */
export const QUIET: EngineLog = { log: () => undefined, warn: () => undefined };

/** Options of {@link TestLockStore}. */
export interface TestLockStoreOptions {
  /**
   * Whether time stands still between calls of `advance`. Then every time is exact; what waits, waits until the test
   * moves the time, also the shutdown of a module that still holds a lock.
   *
   * @default false: time runs as usual, and `advance` skips some of it
   */
  readonly frozen?: boolean | undefined;
}

/**
 * Locks in memory whose time a test moves, and which the test makes busy, lost or unavailable. Give it as `store` to
 * `DistributedLockModule.forRoot`: leases, waits and the watchdog of the module follow its time.
 */
export class TestLockStore implements LockStore {
  readonly name = 'the memory of a test';
  readonly clock: TestClock;

  private readonly locks: MemoryLocks;
  private readonly clients = new Set<LockStoreClient>();
  private readonly unavailableKeys = new Set<string>();
  private isAway = false;
  private readonly expected = new Map<string, Set<() => void>>();
  private others: LockService | undefined;

  constructor(options: TestLockStoreOptions = {}) {
    this.clock = new TestClock(options.frozen ?? false);
    this.locks = new MemoryLocks(() => this.clock.wall());
  }

  open(client: LockStoreClient): LockStoreSession {
    this.clients.add(client);
    const reachable: LockStoreClient = {
      ...client,
      granted: (owner, grant) => {
        if (!this.isAway) client.granted(owner, grant);
      },
      broken: (owner) => {
        if (!this.isAway) client.broken(owner);
      },
    };
    return new TestLockSession(new MemorySession(this.locks, reachable), {
      isUnavailable: (key) => this.isAway || (key !== undefined && this.unavailableKeys.has(key)),
      queued: (key) => {
        for (const resolve of this.expected.get(key) ?? []) resolve();
      },
    });
  }

  /**
   * Moves the time ahead. Whatever becomes due on the way happens in its order, at its time; when the promise resolves,
   * it has happened.
   *
   * @param ms 0 … 2 147 483 647
   */
  async advance(ms: number): Promise<void> {
    await this.clock.advance(checkTime('advance()', 'ms', ms, { min: 0 }));
  }

  /**
   * Makes a lock busy: takes it as another process does, which renews it until the handle is released. Options are those
   * of `acquire`; `waitTime` is 0 unless it is given.
   *
   * @throws LockTimeoutError when the code under test holds the lock; see {@link lose}
   */
  async hold(key: LockKey, options?: LockOptions): Promise<LockHandle> {
    return await this.outside().acquire(key, options);
  }

  /**
   * Takes a lock away from whoever holds it: `signal` of its handle aborts with a `LockLostError` whose reason is
   * `'taken'`. For `'expired'` let a `leaseTime` end by {@link advance}; for `'unreachable'` do so with the store
   * unavailable.
   *
   * @throws Error when nobody holds it
   */
  async lose(key: string): Promise<void> {
    const broken = await this.outside().forceRelease(key);
    if (!broken) throw new Error(`lose(): nobody holds the lock "${key}", so it can't be lost.`);
    await this.clock.advance(0);
  }

  /**
   * From now on every request fails, or each that is about this key: calls for a lock reject with a
   * `LockUnavailableError` at once, and held locks can't be renewed. `hold` is not affected.
   */
  setUnavailable(key?: string): void {
    if (key === undefined) this.isAway = true;
    else this.unavailableKeys.add(key);
  }

  /** Ends {@link setUnavailable}: of this key, or of all keys and the store. */
  setAvailable(key?: string): void {
    if (key === undefined) {
      this.isAway = false;
      this.unavailableKeys.clear();
    } else this.unavailableKeys.delete(key);
    for (const client of this.clients) client.askAgain();
  }

  /** Resolves when a call of the code under test waits for a lock that another process has; at once if one does. */
  async untilQueued(key: string): Promise<void> {
    if (this.locks.hasWaiters(key)) return;
    await new Promise<void>((resolve) => {
      const waiting = this.expected.get(key) ?? new Set();
      this.expected.set(key, waiting);
      waiting.add(() => {
        this.expected.delete(key);
        resolve();
      });
    });
  }

  /** The locks as another process sees them, which no fault of the test keeps from them. */
  private outside(): LockService {
    if (this.others === undefined) {
      const store: LockStore = {
        name: this.name,
        clock: this.clock,
        open: (client) => new MemorySession(this.locks, client),
      };
      this.others = new LockService(new LockEngine(store, SETTINGS, QUIET), 0);
    }
    return this.others;
  }
}
