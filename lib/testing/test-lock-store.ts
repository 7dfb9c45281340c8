import { EventEmitter, once } from 'node:events';
import { LockAdmin } from '../api/lock-admin.js';
import { LockService } from '../api/lock.service.js';
import type { ElectionLog } from '../leader/leader-election.js';
import { LockEngine, type EngineSettings } from '../engine/lock-engine.js';
import type { LockHandle } from '../model/lock-handle.js';
import type { LockKey } from '../model/lock-key.js';
import type { LockOptions } from '../model/lock.options.js';
import { checkTime } from '../model/option-checks.js';
import { MemoryLocks } from '../stores/memory/memory-locks.js';
import { openMemory, type MemorySession } from '../stores/memory/memory-session.js';
import { ForwardingSession, type WholeSession } from '../stores/port/forwarding-session.js';
import {
  LockStoreError,
  type AcquireReply,
  type AcquireRequest,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
  type RenewReply,
  type RenewRequest,
} from '../stores/port/lock-store.js';
import { TestClock } from './test-clock.js';

/** The module's defaults, for engines created without the module. */
export const SETTINGS: EngineSettings = { watchdogTimeout: 30_000, shutdownTimeout: 0 };

export const NO_LOG: ElectionLog = { log: () => undefined, warn: () => undefined, error: () => undefined };

/** Options of {@link TestLockStore}. */
export interface TestLockStoreOptions {
  /**
   * Whether time stands still between calls of `advance`. All times are then exact. Anything that waits does so until the
   * test advances the time, including the shutdown of a module that still holds a lock.
   *
   * @default false: time runs as usual, and `advance` skips some of it
   */
  readonly frozen?: boolean | undefined;
}

/**
 * Locks in memory for tests. A test can advance the time and make locks busy, lost or unavailable. Pass it as `store` to
 * `DistributedLockModule.forRoot`: leases, waits and the watchdog of the module follow its time.
 */
export class TestLockStore implements LockStore {
  readonly name = 'the memory of a test';
  readonly clock: TestClock;

  private readonly locks: MemoryLocks;
  private readonly clients = new Set<LockStoreClient>();
  private readonly unavailableKeys = new Set<string>();
  private isUnavailable = false;
  private readonly queued = new EventEmitter().setMaxListeners(0);
  private otherProcess: LockEngine | undefined;

  constructor(options: TestLockStoreOptions = {}) {
    this.clock = new TestClock(options.frozen ?? false);
    this.locks = new MemoryLocks(() => this.clock.wall());
  }

  open(client: LockStoreClient): LockStoreSession {
    this.clients.add(client);
    const reachable: LockStoreClient = {
      ...client,
      granted: (owner, grant) => {
        if (!this.isUnavailable) client.granted(owner, grant);
      },
      broken: (owner) => {
        if (!this.isUnavailable) client.broken(owner);
      },
    };
    const isUnavailable = (key?: string): boolean =>
      this.isUnavailable || (key !== undefined && this.unavailableKeys.has(key));
    const onQueued = (key: string): void => void this.queued.emit(queuedEvent(key));
    return new TestLockSession(openMemory(this.locks, reachable), isUnavailable, onQueued);
  }

  /**
   * Advances the time. Everything that becomes due on the way happens in order and at its time, before the promise
   * resolves.
   *
   * @param ms 0 … 2 147 483 647
   */
  async advance(ms: number): Promise<void> {
    await this.clock.advance(checkTime('advance()', 'ms', ms, { min: 0 }));
  }

  /**
   * Makes a lock busy: acquires it as another process would, and renews it until the handle is released. The options are
   * those of `acquire`, except that `waitTime` defaults to 0.
   *
   * @throws LockTimeoutError when the code under test holds the lock; see {@link lose}
   */
  async hold(key: LockKey, options?: LockOptions): Promise<LockHandle> {
    return await new LockService(this.engineOfOtherProcess(), 0).acquire(key, options);
  }

  /**
   * Takes a lock away from its holder: the `signal` of the handle aborts with a `LockLostError` whose reason is `'taken'`.
   * For the reason `'expired'`, let a `leaseTime` end with {@link advance}. For `'unreachable'`, do so while the store is
   * unavailable.
   *
   * @throws Error when the lock is free
   */
  async lose(key: string): Promise<void> {
    const broken = await new LockAdmin(this.engineOfOtherProcess()).forceRelease(key);
    if (!broken) throw new Error(`lose(): the lock "${key}" is not held, so it can't be lost.`);
    await this.clock.advance(0);
  }

  /**
   * From now on every request fails, or every request for this key: calls for a lock reject with a
   * `LockUnavailableError` immediately, and held locks can't be renewed. `hold` still works.
   */
  setUnavailable(key?: string): void {
    if (key === undefined) this.isUnavailable = true;
    else this.unavailableKeys.add(key);
  }

  /** Ends {@link setUnavailable} for this key, or for the store and all keys. */
  setAvailable(key?: string): void {
    if (key === undefined) {
      this.isUnavailable = false;
      this.unavailableKeys.clear();
    } else this.unavailableKeys.delete(key);
    for (const client of this.clients) client.pollNow();
  }

  /** Resolves when a call of the code under test waits for a lock that another process holds; at once if one does. */
  async untilQueued(key: string): Promise<void> {
    if (!this.locks.hasWaiters(key)) await once(this.queued, queuedEvent(key));
  }

  /** Another process that uses the same locks, unaffected by the faults of the test. */
  private engineOfOtherProcess(): LockEngine {
    if (this.otherProcess === undefined) {
      const store: LockStore = {
        name: this.name,
        clock: this.clock,
        open: (client) => openMemory(this.locks, client),
      };
      this.otherProcess = new LockEngine(store, SETTINGS, NO_LOG);
    }
    return this.otherProcess;
  }
}

/** Not the key itself: an `error` event would throw. */
function queuedEvent(key: string): string {
  return `queued ${key}`;
}

/** A session of the application under test. Fails on the requests that the test selects. */
class TestLockSession extends ForwardingSession {
  constructor(
    private readonly session: MemorySession,
    /** Whether requests for this key fail; without a key, whether all requests fail. */
    private readonly isUnavailable: (key?: string) => boolean,
    private readonly onQueued: (key: string) => void,
  ) {
    super();
  }

  async start(): Promise<void> {
    this.check();
    await this.session.start();
  }

  override async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const reply = await super.acquire(request);
    if (reply.outcome === 'queued') this.onQueued(request.key);
    return reply;
  }

  async renew(requests: readonly RenewRequest[]): Promise<readonly (RenewReply | LockStoreError)[]> {
    this.check();
    const renewed = requests.map(async (request): Promise<RenewReply | LockStoreError> => {
      if (this.isUnavailable(request.key)) return unavailable();
      const [reply] = await this.session.renew([request]);
      return reply ?? 'gone';
    });
    return await Promise.all(renewed);
  }

  async close(): Promise<void> {
    await this.session.close();
  }

  protected async at<T>(key: string, request: (session: WholeSession) => PromiseLike<T>): Promise<T> {
    this.check(key);
    return await request(this.session);
  }

  private check(key?: string): void {
    if (this.isUnavailable(key)) throw unavailable();
  }
}

/** Not retryable, so that a call fails at once instead of when its `waitTime` ends. */
function unavailable(): LockStoreError {
  return new LockStoreError('the test has made the store unavailable', {
    inDoubt: false,
    retryable: false,
    unreachable: true,
  });
}
