import type { Redis } from 'ioredis';
import type { LockStore, LockStoreSession } from '../../../lib/stores/port/index.js';
import { RedisLockStore } from '../../../lib/stores/redis/redis-lock-store.js';
import { scripts } from '../../../lib/stores/redis/scripts/scripts.js';
import { redissonStore } from '../../../lib/stores/redisson/index.js';
import { redissonScripts } from '../../../lib/stores/redisson/redisson-scripts.js';
import { leftoversOf } from '../../support/leftovers.js';
import type { ProxiedConnection } from '../../support/tcp-proxy.js';
import { RedisServer } from '../../support/redis-server.js';
import { StoreScene, type Fits } from './store-scene.js';

const ASKS = [scripts.take, scripts.acquire, redissonScripts.redissonTake].map(
  (script) => script.with([], [], {} as never).text.sha,
);

/** A Redis that keeps its data; for one that loses them, see the other tests of Redis. */
export class RedisStoreScene extends StoreScene<RedisServer> {
  readonly title: string = 'Redis';
  override readonly keepsLocksInSessions = false;
  override readonly sendsAtOnce = true;
  override readonly closesAtOnce = false;
  override readonly brings = ({ subscribes }: ProxiedConnection): boolean => subscribes;

  private inspecting: Redis | undefined;

  constructor() {
    super(() => RedisServer.start({ settings: { appendonly: 'yes', appendfsync: 'always' } }));
  }

  protected get client(): Redis {
    return (this.inspecting ??= this.server.client());
  }

  storeAt(port: number): LockStore {
    return new RedisLockStore({ port }, 'lock:');
  }

  workerOptions(port: number, isSecure = false): object {
    return { redis: { port, ...(isSecure && { tls: {} }) } };
  }

  queues(key: string): Fits {
    return (request) => request.includes(`lock:${key}`);
  }

  asks(key: string): Fits {
    return (request) => request.includes(`lock:${key}`) && ASKS.some((sha) => request.includes(sha));
  }

  async leftovers(): Promise<readonly string[]> {
    return await leftoversOf(this.client);
  }

  async deleteLocks(): Promise<void> {
    await this.client.flushall();
  }

  async loseData(): Promise<void> {
    await this.client.flushall();
  }

  endSessions(): Promise<void> {
    throw new Error('the end of a connection ends no hold');
  }

  protected silence(session: LockStoreSession, missed: () => void): void {
    Object.assign((session as unknown as { pushed: object }).pushed, { receive: missed });
  }

  protected override clear(): Promise<void> {
    return this.loseData();
  }
}

/** The same server, with the locks of Redisson. */
export class RedissonScene extends RedisStoreScene {
  override readonly title = "Redisson's locks";
  override readonly isExclusive = true;
  /** They are Redisson's: a counter for each lock. */
  override readonly tokensOutliveData = false;

  override storeAt(port: number): LockStore {
    return redissonStore({ redis: { port }, keyPrefix: 'lock:' });
  }

  override async deleteLocks(): Promise<void> {
    const locks = await this.client.keys('lock:*');
    if (locks.length > 0) await this.client.del(locks);
  }

  override workerOptions(port: number, isSecure = false): object {
    return { redisson: { redis: { port, ...(isSecure && { tls: {} }) }, keyPrefix: 'lock:' } };
  }

  protected override silence(session: LockStoreSession, missed: () => void): void {
    Object.assign(session, { onMessage: missed });
  }
}
