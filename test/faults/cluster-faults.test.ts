import { describe, expect, it } from '@jest/globals';
import { LockUnavailableError } from '../../lib/index.js';
import { keySlot } from '../../lib/stores/redis/scripts/key-names.js';
import type { OwnerId } from '../../lib/stores/port/index.js';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { idleClient } from '../support/idle-client.js';
import { RedisServer } from '../support/redis-server.js';
import { addSlots, RedisCluster } from '../support/redis-cluster.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { next, rejectionOf, until, within } from '../support/until.js';
import { throughout, TopologyScene } from './topology-scene.js';

const patient = { waitTime: 60_000 };

describe('faults of a Redis Cluster', () => {
  const scene = new TopologyScene(
    () => RedisCluster.start(),
    ({ nodes }) => ({ redis: { nodes } }),
  );

  const slotOf = (key: string): number => keySlot(`lock:${key}`);

  /** A primary that does not serve the slot. */
  async function otherThan(slot: number): Promise<RedisServer> {
    const owner = await scene.servers.primaryOf(slot);
    const other = (await scene.servers.primaries()).find((server) => server !== owner);
    if (!other) throw new Error('there is one primary only');
    return other;
  }

  it('B12, P41: several keys of one slot are acquired together, also those of different slots', async () => {
    const app = await scene.app();
    const primaries = await scene.servers.primaries();
    const scriptsOf = async (keys: readonly string[]): Promise<number> => {
      // Load the scripts on every server.
      await app.locks.withLock(keys, () => undefined);
      const clients = primaries.map((server) => server.client());
      await Promise.all(clients.map((client) => client.config('RESETSTAT')));
      const lock = await app.locks.acquire(keys);
      const stats = await Promise.all(clients.map((client) => client.info('commandstats')));
      expect(lock.isHeld).toBe(true);
      await lock.release();
      const calls = stats.join().matchAll(/cmdstat_evalsha:calls=(\d+)/g);
      return [...calls].reduce((sum, [, count]) => sum + Number(count), 0);
    };
    const tag = scene.key();
    expect(await scriptsOf(['a', 'b', 'c'].map((end) => `{${tag}}${end}`))).toBeLessThan(3);
    const spread = [0, 5_461, 10_923].map((from) => {
      // One slot in each third of the range, so one on each server.
      for (;;) {
        const key = scene.key();
        if (slotOf(key) >= from && slotOf(key) < from + 5_461) return key;
      }
    });
    expect(await scriptsOf(spread)).toBe(3);
    await scene.nothingLeft();
  });

  it('F5, P41: a slot takes its lock and waiters along when it moves', async () => {
    const [holder, waiter] = [await scene.app({ watchdogTimeout: 1_500 }), await scene.app()];
    const key = scene.key();
    const held = await holder.locks.acquire(key);
    const waiting = waiter.locks.acquire(key, patient);
    await queuedIn(waiter, key);
    await scene.servers.migrateSlot(slotOf(key), await otherThan(slotOf(key)));
    await throughout(2_500, 'held', () => held.isHeld);
    expect(holder.events('lost')).toEqual([]);
    expect(await holder.admin.inspect(key)).toMatchObject({ token: held.token, waiting: 1 });
    expect(await held.release()).toBe('released');
    const next = await within(5_000, 'the waiter', waiting);
    expect(next.token).toBeGreaterThan(held.token);
    await next.release();
    await scene.nothingLeft();
  });

  it('P41, F54: nothing is kept at a server of waiters whose slot has moved away', async () => {
    const holder = await scene.app();
    const key = scene.key();
    const held = await holder.locks.acquire(key);
    const redis = { nodes: [...scene.servers.nodes] };
    const session = new RedisLockStore(redis, 'lock:').open({ ...idleClient, id: 'waiter' });
    scene.until({ kill: () => session.close() });
    await session.start();
    const owner = 'waiter:1' as OwnerId;
    const wait = async (): Promise<string> => {
      const terms = { lease: 20_000, claimLease: 2_000, wait: true, contended: true, tokens: 1 };
      const caller = { callers: 1, limit: 1, permits: 1, label: undefined };
      return (await session.acquire({ key, owner, ...terms, ...caller })).outcome;
    };
    expect(await wait()).toBe('queued');
    await scene.servers.migrateSlot(slotOf(key), await otherThan(slotOf(key)));
    expect(await wait()).toBe('queued');
    // Reads private fields: the port does not report what a session remembers.
    const { servers } = session as unknown as {
      servers: ReadonlyMap<string, { pushed: { waiting: ReadonlySet<unknown> } }>;
    };
    expect([...servers.values()].map(({ pushed }) => pushed.waiting.size).sort()).toEqual([0, 0, 1]);
    await session.release({ key, owner, wasGranted: false, inDoubt: false });
    await held.release();
    await scene.nothingLeft();
  });

  it('F5: a hold is renewed while its slot migrates (ASK, TRYAGAIN), and locks work afterwards', async () => {
    const [holder, waiter] = [await scene.app({ watchdogTimeout: 1_500 }), await scene.app()];
    const key = `{${scene.key()}}`;
    const held = await holder.locks.acquire(key);
    const waiting = waiter.locks.acquire(key, patient);
    await queuedIn(waiter, key);
    const migration = await scene.servers.beginMigration(slotOf(key), await otherThan(slotOf(key)));
    await migration.moveKeys([`lock:${key}`]);
    // Longer than the lease: only the new server can have renewed it.
    await throughout(3_000, 'held', () => held.isHeld);
    expect(holder.events('lost')).toEqual([]);
    // Neither server accepts a script with several keys while the slot is split.
    const refused = await rejectionOf(waiter.locks.acquire(`${key} beside it`, { waitTime: 500 }));
    expect(refused).toBeInstanceOf(LockUnavailableError);
    expect((refused as LockUnavailableError).message).toContain('TRYAGAIN');
    await migration.moveKeys();
    await migration.finish();
    await held.release();
    const next = await within(5_000, 'the waiter', waiting);
    await next.release();
    await scene.nothingLeft();
  });

  it('F5: the primary dies during a hold and a wait: the replica keeps the hold and serves the waiter', async () => {
    const [holder, waiter, other] = [
      await scene.app({ watchdogTimeout: 12_000 }),
      await scene.app(),
      await scene.app(),
    ];
    const key = scene.key();
    const held = await holder.locks.acquire(key);
    const waiting = waiter.locks.acquire(key, patient);
    await queuedIn(waiter, key);
    await scene.servers.client().wait(1, 1_000);
    const dead = await scene.servers.killPrimaryOf(slotOf(key));
    const promoted = scene.servers.promotedAfter(dead);
    // Other slots are unaffected.
    const elsewhere = await untilElsewhere(dead);
    await (await within(1_000, 'a lock of another server', other.locks.acquire(elsewhere))).release();
    await promoted;
    await until('the hold is renewed', () =>
      holder.admin.inspect(key).then(
        (info) => info?.token === held.token,
        () => false,
      ),
    );
    expect(held.isHeld).toBe(true);
    expect(holder.events('lost')).toEqual([]);
    expect(await held.release()).toBe('released');
    const next = await within(5_000, 'the waiter', waiting);
    expect(next.token).toBeGreaterThan(held.token);
    await next.release();
    await scene.servers.restart(dead);
    await scene.nothingLeft();
  });

  it('F5: holds that a new primary does not have are lost when it takes over; holds on other servers are not', async () => {
    // Its renewals are 40 s apart.
    const holder = await scene.app({ watchdogTimeout: 120_000 });
    const tag = scene.key();
    const replicas = await scene.servers.cutReplicationOf(slotOf(`{${tag}}`));
    const handles = await Promise.all([
      holder.locks.acquire(`{${tag}}watched`),
      holder.locks.acquire(`{${tag}}fixed`, { leaseTime: 120_000 }),
      holder.locks.acquire(`{${tag}}shared`, { limit: 2 }),
    ]);
    const lost = handles.map(({ key }) =>
      next(holder.locks.events, (event) => event.type === 'lost' && event.key === key, 20_000),
    );
    const dead = await scene.servers.killPrimaryOf(slotOf(`{${tag}}`));
    for (const replica of replicas) replica.resume();
    const elsewhere = await holder.locks.acquire(await untilElsewhere(dead));
    await scene.servers.promotedAfter(dead);
    await within(6_000, 'the losses', Promise.all(lost));
    expect(elsewhere.isHeld).toBe(true);
    expect(holder.events('renewed', elsewhere.key)).toEqual([]);
    await elsewhere.release();
    await scene.servers.restart(dead);
    await scene.nothingLeft();
  });

  it('F68, P33: releases that the death of a primary has lost are repeated at its successor', async () => {
    const [one, two, three] = [await scene.app(), await scene.app(), await scene.app()];
    const tag = scene.key();
    const [free, contested] = [`{${tag}}free`, `{${tag}}contested`];
    const held = await one.locks.acquire(free, patient);
    const first = await one.locks.acquire(contested, patient);
    const second = two.locks.acquire(contested, patient);
    await queuedIn(two, contested);
    await scene.servers.settled();
    const replicas = await scene.servers.cutReplicationOf(slotOf(free));
    expect(await held.release()).toBe('released');
    expect(await first.release()).toBe('released');
    expect(await (await second).release()).toBe('released');
    const dead = await scene.servers.killPrimaryOf(slotOf(free));
    for (const replica of replicas) replica.resume();
    await scene.servers.promotedAfter(dead);
    // The leases that the replica has end after 30 s.
    for (const key of [free, contested]) {
      await (await within(10_000, 'the lock', three.locks.acquire(key, patient))).release();
    }
    expect([...one.events('lost'), ...two.events('lost')]).toEqual([]);
    await scene.servers.restart(dead);
    await scene.nothingLeft();
  });

  it('P41: grants are pushed by sharded pub/sub, one subscription for each client and server', async () => {
    const [holder, waiter] = [await scene.app(), await scene.app()];
    const [server] = await scene.servers.primaries();
    const keys = await keysAt(server!, 3);
    for (const key of keys) {
      const held = await holder.locks.acquire(key);
      const waiting = waiter.locks.acquire(key, patient);
      await queuedIn(waiter, key);
      await held.release();
      // Pushed: a poll would come after a second.
      await (await within(500, 'the pushed grant', waiting)).release();
    }
    const client = server!.client();
    expect(await client.call('PUBSUB', 'SHARDCHANNELS')).toHaveLength(2);
    expect(await client.pubsub('CHANNELS', '*')).toHaveLength(0);
    await scene.nothingLeft();
  });

  it('P41: grants are pushed after the slot that names the channel has moved away', async () => {
    const [holder, waiter] = [await scene.app(), await scene.app()];
    const lowest = 0;
    const server = await scene.servers.primaryOf(lowest);
    const [first, second] = (await keysAt(server, 2)) as [string, string];
    const held = await holder.locks.acquire(first);
    const waiting = waiter.locks.acquire(first, patient);
    await queuedIn(waiter, first);
    await scene.servers.migrateSlot(lowest, await otherThan(lowest));
    const client = server.client();
    await until('both listen on a channel of another slot', async () => {
      const channels = (await client.call('PUBSUB', 'SHARDCHANNELS')) as string[];
      return channels.length === 2 && channels.every((channel) => keySlot(channel) !== lowest);
    });
    await held.release();
    await (await within(2_500, 'the waiter', waiting)).release();
    const again = await holder.locks.acquire(second);
    const pushed = waiter.locks.acquire(second, patient);
    await queuedIn(waiter, second);
    await again.release();
    await (await within(500, 'the pushed grant', pushed)).release();
    await scene.servers.migrateSlot(lowest, server);
    await scene.nothingLeft();
  });

  it('F51: no timer is left by applications that are closed while they read the slot map', async () => {
    const timers = (): number =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = timers();
    const redis = { nodes: scene.servers.nodes, options: { slotsRefreshInterval: 1 } };
    for (let round = 0; round < 12; round++) {
      const app = await scene.app({ redis });
      await app.locks.withLock(scene.key(), () => undefined);
      await app.close();
    }
    // The clients of the test have some now and then.
    await until('the timers have ended', () => timers() <= before + 1);
    await scene.nothingLeft();
  });

  it('P41: the slot map is refreshed as usual after a start without any node', async () => {
    const [server] = await scene.servers.primaries();
    const proxy = await TcpProxy.before(server!.port);
    scene.until({ kill: () => proxy.close() });
    await proxy.refuse();
    // No periodic refresh during the test.
    const redis = { nodes: [proxy.url], options: { slotsRefreshInterval: 600_000 } };
    const app = await scene.app({ redis });
    const key = scene.key();
    const waiting = app.locks.acquire(key, patient);
    // Some of these calls run while no node is known.
    await throughout(300, 'waiting', () => {
      app.locks.acquire(scene.key(), { waitTime: 0 }).catch(() => undefined);
      return true;
    });
    await proxy.accept();
    await (await within(5_000, 'the lock', waiting)).release();
    await scene.servers.migrateSlot(slotOf(key), await otherThan(slotOf(key)));
    await (await within(1_000, 'the lock on the new owner of its slot', app.locks.acquire(key))).release();
    await scene.nothingLeft();
  });

  /** Keys whose slots the server serves. */
  async function keysAt(server: RedisServer, count: number): Promise<string[]> {
    const found: string[] = [];
    while (found.length < count) {
      const key = scene.key();
      // Not in the slot that is migrated.
      if (slotOf(key) !== 0 && (await scene.servers.primaryOf(slotOf(key))) === server) found.push(key);
    }
    return found;
  }

  async function untilElsewhere(dead: RedisServer): Promise<string> {
    return until('a key of another server', async () => {
      const key = scene.key();
      return (await scene.servers.primaryOf(slotOf(key))) === dead ? '' : key;
    });
  }
});

describe('a Redis Cluster whose nodes are all replaced', () => {
  const scene = new TopologyScene(
    () => RedisCluster.start({ replicasEach: 0 }),
    ({ nodes }) => ({ redis: { nodes } }),
  );

  it('P41: the new nodes are found by the configured addresses', async () => {
    const former = await RedisCluster.start({ replicasEach: 0 });
    scene.until({ kill: () => former.close() });
    const seeds = await Promise.all(
      [former, scene.servers].map(({ servers }) => TcpProxy.before(servers[0]!.port)),
    );
    for (const proxy of seeds) scene.until({ kill: () => proxy.close() });
    const [seed, laterSeed] = seeds;
    await laterSeed!.refuse();
    const app = await scene.app({ redis: { nodes: seeds.map(({ url }) => url) } });
    const key = scene.key();
    await (await app.locks.acquire(key)).release();
    await Promise.all(former.servers.map((server) => server.kill()));
    await seed!.refuse();
    await laterSeed!.accept();
    await (await within(5_000, 'the lock', app.locks.acquire(key, patient))).release();
    await scene.nothingLeft();
  });
});

describe('a Redis Cluster without sharded pub/sub', () => {
  // Like Redis before 7.0.
  const scene = new TopologyScene(
    () => RedisCluster.start({ replicasEach: 0, settings: { 'rename-command': ['SSUBSCRIBE', ''] } }),
    ({ nodes }) => ({ redis: { nodes } }),
  );

  it('P41: grants are pushed through the whole cluster', async () => {
    const [holder, waiter] = [await scene.app(), await scene.app()];
    for (let round = 0; round < 6; round += 1) {
      const key = scene.key();
      const held = await holder.locks.acquire(key);
      const waiting = waiter.locks.acquire(key, patient);
      await queuedIn(waiter, key);
      await held.release();
      const got = await within(500, 'the pushed grant', waiting);
      // Although the sender could not tell whether anyone received it.
      expect((await holder.admin.inspect(key))?.token).toBe(got.token);
      await got.release();
    }
    await scene.nothingLeft();
  });
});

describe('a Redis Cluster whose only server does not report its address', () => {
  it('P41: is a clear error, without a busy loop of requests', async () => {
    const server = await RedisServer.start({ settings: { 'cluster-enabled': 'yes' } });
    try {
      const client = server.client();
      await addSlots(client);
      const connections = async (): Promise<number> =>
        Number(/total_connections_received:(\d+)/.exec(await client.info('stats'))?.[1]);
      const before = await connections();
      const app = await LockApp.start({ redis: { nodes: [server.url] }, shutdownTimeout: 50 });
      try {
        const error = await rejectionOf(app.locks.acquire('key', { waitTime: 1_500 }));
        expect(error).toBeInstanceOf(LockUnavailableError);
        expect((error as Error).message).toContain('no server of the Redis Cluster is known to have slot');
        expect((await connections()) - before).toBeLessThan(20);
      } finally {
        await app.close();
      }
    } finally {
      await server.close();
    }
  });
});
