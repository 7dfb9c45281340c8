import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { DistributedLockModule } from '../../../lib/index.js';
import { RedisCluster } from '../../support/redis-cluster.js';
import { SentinelGroup } from '../../support/sentinel-group.js';
import { HttpApps } from './http-app.js';

interface Watched {
  readonly options: object;
  readonly status: string;
  eventNames(): (string | symbol)[];
  listenerCount(name: string | symbol): number;
}

const look = (client: Watched): object => ({
  options: { ...client.options },
  names: Object.getOwnPropertyNames(client).sort(),
  listeners: client.eventNames().map((name) => [String(name), client.listenerCount(name)]),
  status: client.status,
});

describe("the user's own client of several servers", () => {
  const apps = new HttpApps();
  let cluster: RedisCluster;
  let group: SentinelGroup;
  let client: Cluster | Redis;

  beforeAll(async () => {
    [cluster, group] = await Promise.all([RedisCluster.start({ replicasEach: 0 }), SentinelGroup.start()]);
  });
  afterEach(() => client.disconnect());
  afterAll(async () => {
    await Promise.all([cluster.close(), group.close()]);
  });

  const start = (redis: Cluster | Redis, keyPrefix?: string) =>
    apps.start({ imports: [DistributedLockModule.forRoot({ redis, keyPrefix })] });

  /** Makes two calls for one key, so that one waits. */
  async function use(redis: Cluster | Redis): Promise<void> {
    const [one, two] = [await start(redis), await start(redis)];
    for (const key of ['a', 'b', 'c', 'd']) {
      const holder = await one.locks.acquire(key);
      const queued = two.next('queued', key);
      const waiting = two.locks.acquire(key);
      await queued;
      await holder.release();
      await (await waiting).release();
    }
    await one.close();
    await two.close();
  }

  it('B4: a Cluster is not touched, and outlives the application', async () => {
    const mine = new Cluster([...cluster.nodes], { slotsRefreshInterval: 60_000 });
    client = mine;
    await mine.set('mine', 'before');
    const before = look(mine);
    await use(mine);
    expect(look(mine)).toEqual(before);
    expect(await mine.get('mine')).toBe('before');
  });

  it('B4: the duplicates keep the keyPrefix of a Cluster', async () => {
    const mine = new Cluster([...cluster.nodes], { keyPrefix: 'app:' });
    client = mine;
    const app = await start(mine, 'locks:');
    const handle = await app.locks.acquire('k');
    expect(await mine.exists('locks:k')).toBe(1);
    await handle.release();
    expect(await mine.exists('locks:k')).toBe(0);
  });

  it('B4: a Cluster may be lazy, and is then left unconnected', async () => {
    const mine = new Cluster([...cluster.nodes], { lazyConnect: true });
    client = mine;
    await use(mine);
    expect(mine.status).toBe('wait');
  });

  it('B4: a client of Sentinel is not touched, and outlives the application', async () => {
    const mine = new Redis({ sentinels: [...group.sentinels], name: group.name });
    client = mine;
    await mine.set('mine', 'before');
    const before = look(mine);
    await use(mine);
    expect(look(mine)).toEqual(before);
    expect(await mine.get('mine')).toBe('before');
  });
});
