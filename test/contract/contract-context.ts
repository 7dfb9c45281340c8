import { afterAll, afterEach, beforeAll, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { DistributedLockOptions } from '../../lib/index.js';
import type { LockStore } from '../../lib/stores/port/index.js';
import { LockApp } from '../support/lock-app.js';
import { MortalStore } from '../support/mortal-store.js';
import { until } from '../support/until.js';
import { PortClient } from './port-client.js';
import type { StoreFactory, StoreUnderTest } from './store-under-test.js';

/** `DistributedLockOptions` without the choice of the store. */
export interface AppSettings {
  readonly watchdogTimeout?: number;
  readonly waitTime?: number;
  readonly shutdownTimeout?: number;
  readonly maxWaiting?: number;
  /** Replaces the store's own options: what the test built from its port. */
  readonly store?: LockStore;
}

/** As many elements as requested. */
export type Tuple<T, N extends number, Some extends T[] = []> = Some['length'] extends N
  ? Some
  : Tuple<T, N, [...Some, T]>;

/** One store for all rules, and what a test started on it. After each test nothing may be left in the store. */
export class ContractContext {
  private underTest: StoreUnderTest | undefined;
  private readonly apps: LockApp[] = [];
  private readonly connections: { close(): Promise<void> }[] = [];
  private mayLeaveLocks = false;

  /**
   * @param isExclusive whether the store keeps exclusive locks only, in no order over processes: rules for anything else
   *   are skipped
   */
  constructor(
    factory: StoreFactory,
    readonly isExclusive = false,
  ) {
    beforeAll(async () => {
      this.underTest = await factory();
    });
    afterEach(async () => {
      try {
        if (!this.mayLeaveLocks) await this.nothingLeft();
      } finally {
        this.mayLeaveLocks = false;
        await this.closeAll();
        await this.store.clear();
      }
    });
    afterAll(async () => {
      await this.underTest?.close();
    });
  }

  /** For rules on readers, permits, or an order over processes. */
  get itOfAllKinds(): typeof it {
    return this.isExclusive ? (it.skip as typeof it) : it;
  }

  /** Leaves out the cases whose options the store refuses. */
  supported<Case extends readonly unknown[]>(cases: readonly Case[]): readonly Case[] {
    const isRefused = (value: unknown): boolean => {
      const { fair = false, mode, limit = 1 } = (value ?? {}) as Record<string, unknown>;
      return fair === true || mode === 'shared' || limit !== 1;
    };
    return this.isExclusive ? cases.filter((each) => !each.some(isRefused)) : cases;
  }

  get store(): StoreUnderTest {
    if (!this.underTest) throw new Error('the store is there only while tests run');
    return this.underTest;
  }

  /** One more process on the store. */
  async app(settings: AppSettings = {}): Promise<LockApp> {
    const { store, ...others } = settings;
    const options: DistributedLockOptions = {
      ...(store === undefined ? this.store.options() : { store }),
      shutdownTimeout: 100,
      ...others,
    };
    const app = await LockApp.start(options);
    this.apps.push(app);
    if (store === undefined && this.store.listensFromStart === true) {
      await until(
        'all connections are open',
        () => app.admin.status().store.connections?.every(({ isOpen }) => isOpen) !== false,
      );
    }
    return app;
  }

  /** The store as a process sees it that dies, from the store's point of view, when `die` is called. */
  async mortalStore(): Promise<{ readonly store: LockStore; die(): Promise<void> }> {
    const connection = await this.store.mortal?.();
    if (connection !== undefined) this.connections.push(connection);
    const store = new MortalStore(connection?.port ?? this.store.port());
    const die = async (): Promise<void> => {
      store.die();
      await connection?.cut();
    };
    return { store, die };
  }

  /** Several processes on the store, as a tuple. */
  async fleet<N extends number>(size: N, settings: AppSettings = {}): Promise<Tuple<LockApp, N>> {
    const apps = await Promise.all(Array.from({ length: size }, () => this.app(settings)));
    // The compiler can't follow that the array has as many elements as requested.
    return apps as Tuple<LockApp, N>;
  }

  /** Bare clients of the port, as a tuple. */
  async clients<N extends number>(count: N): Promise<Tuple<PortClient, N>> {
    const clients = await Promise.all(Array.from({ length: count }, () => this.client()));
    return clients as Tuple<PortClient, N>;
  }

  /** @param store replaces the store's own port */
  async client(store = this.store.port()): Promise<PortClient> {
    const client = await PortClient.open(store, this.store);
    this.connections.push(client);
    return client;
  }

  /** How long a crash keeps a lock at most (B20), ms. */
  freedAfter(watchdogTimeout: number): number {
    if (this.store.freesCrashedInSeconds !== true) return watchdogTimeout;
    return Math.ceil((1.5 * watchdogTimeout) / 1_000) * 1_000;
  }

  /** A lease of this many ms in addition to the time that the reply may take. */
  leaseOf(ms: number): number {
    return ms + 2 * this.store.delay;
  }

  /** A `waitTime` of this many ms in addition to the longest time that queuing takes: one subscription and one request. */
  longEnough(ms: number): number {
    return ms + 6 * this.store.delay;
  }

  /** A name that no other test uses. */
  key(): string {
    return `key-${randomUUID()}`;
  }

  /** Names that no other test uses, of locks that every store keeps together. */
  keysTogether(): () => string {
    const place = randomUUID();
    return () => `{${place}}-${randomUUID()}`;
  }

  /** For a test that ends with locks, or what processes publish, still in the store. */
  leavesLocks(): void {
    this.mayLeaveLocks = true;
  }

  private async closeAll(): Promise<void> {
    await Promise.all(this.apps.splice(0).map((app) => app.close()));
    await Promise.all(this.connections.splice(0).map((connection) => connection.close()));
  }

  /**
   * Fails if the store still holds anything; background work of the library may take a moment.
   *
   * @param story more context for the message, such as the seed of a run
   */
  async nothingLeft(story = ''): Promise<void> {
    let left: readonly string[] = [];
    await until('nothing is left in the store', async () => {
      left = await this.store.leftovers();
      return left.length === 0;
    }).catch((cause: unknown) => {
      throw new Error(`left behind: ${left.join(', ')} ${story}`, { cause });
    });
  }
}
