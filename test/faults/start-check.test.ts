import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { backoff, LockUnavailableError, type LockOptions } from '../../lib/index.js';
import { aclRules } from '../../lib/stores/redis/doctor/acl-rules.js';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { PortClient } from '../contract/port-client.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { Endings } from '../support/endings.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { redisMajor } from '../support/redis-process.js';
import { RedisServer } from '../support/redis-server.js';
import { ServerFleet } from '../support/server-fleet.js';
import { rejectionOf, until, within } from '../support/until.js';
import { RedisScene } from './redis-scene.js';
import { TopologyScene } from './topology-scene.js';

const oneServer = { cluster: false, sharded: false, replicas: false, database: false };

const warningsOf = (app: LockApp): readonly string[] =>
  app.log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);

/** Uses every feature of locks, in two processes. */
async function exercise(one: LockApp, two: LockApp, key: string): Promise<void> {
  const held = await one.locks.acquire(key);
  const waiting = two.locks.acquire(key, { waitTime: 10_000 });
  await queuedIn(two, key);
  await held.extend(60_000);
  expect(await two.admin.inspect(key)).toMatchObject({ token: held.token });
  expect(await held.release()).toBe('released');
  // A pushed grant shows that the channel works.
  const next = await within(500, 'the pushed grant', waiting);
  expect(await one.admin.forceRelease(key)).toBe(true);
  await next.release();
  await Promise.all(Array.from({ length: 50 }, () => one.locks.withLock(key, () => undefined)));
  await exerciseOptions(one, two, key);
}

/** Uses each option of calls, and makes callers of another process wait for it. */
async function exerciseOptions(one: LockApp, two: LockApp, key: string): Promise<void> {
  const uses: readonly LockOptions[] = [
    { leaseTime: 60_000, label: 'label', operation: 'exercise' },
    { fair: true },
    { mode: 'shared' },
    { limit: 3 },
    { limit: 5, permits: 3 },
    { limit: 5, permits: 5, fair: true },
    { holdAtLeast: 20 },
    { maxWaiting: 10, onLost: 'throw' },
    { retry: { backoff: backoff.fixed(10) } },
  ];
  for (const [index, options] of uses.entries()) {
    const own = `${key}:${index}`;
    await one.locks.withLock(own, options, () => undefined);
    const held = await one.locks.acquire(own, options);
    const waiting = Promise.all(
      [1, 2].map(() => two.locks.withLock(own, { ...options, waitTime: 10_000 }, () => undefined)),
    );
    await held.extend(60_000);
    await held.release();
    await waiting;
    const broken = await two.locks.acquire(own, { ...options, waitTime: 10_000 });
    expect(await one.admin.breakHold(own, { token: broken.token })).toBe('broken');
  }
  const several = [`${key}:b`, `${key}:a`];
  const held = await one.locks.acquire(several, { limit: 4, permits: 2 });
  expect(await two.locks.tryAcquire(several, { limit: 4, permits: 3 })).toBeNull();
  await held.release();
}

/**
 * What a server denied to users. Without `CLIENT SETINFO`: servers from Redis 7.2 on know it, and ioredis sends it, but the
 * recommended rules don't contain it, since older servers refuse a rule for it.
 */
async function deniedBy(client: Redis): Promise<unknown[]> {
  const entries = (await client.call('ACL', 'LOG')) as unknown[][];
  // Before Redis 7 the log names no subcommands.
  const setInfo = redisMajor() >= 7 ? 'client|setinfo' : 'client';
  return entries.filter((entry) => !entry.includes(setInfo));
}

describe('the check at start', () => {
  const scene = new RedisScene();

  it('logs one line when all is well: where locks are kept, and on which server', async () => {
    const app = await scene.app();
    const lines = app.log.matching('Locks are kept');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /^Locks are kept in Redis at 127\.0\.0\.1:\d+ \((Redis|Valkey) \d+\.\d+\.\d+, noeviction\), prefix "lock:", as client [\w-]{22}@[\w.-]+\/\d+\.$/,
    );
    expect(warningsOf(app)).toEqual([]);
    expect(await scene.client.keys('*')).toEqual([]);
  });

  it.each([undefined, 'local'] as const)(
    'F16: logs that line also when the server starts after the application (onUnavailable: %s)',
    async (onUnavailable) => {
      const proxy = await scene.proxy();
      await proxy.refuse();
      const app = await scene.app({
        redis: proxy.url,
        ...(onUnavailable !== undefined && { onUnavailable }),
      });
      expect(app.log.matching('Locks are kept')).toEqual([]);
      await proxy.accept();
      await until('locks are taken in Redis', () =>
        app.locks.withLock(scene.key(), { waitTime: 10_000 }, ({ local }) => !local),
      );
      const [line, ...more] = app.log.matching('Locks are kept');
      expect(line).toMatch(/^Locks are kept in Redis at .*, as client [\w-]{22}@[\w.-]+\/\d+\.$/);
      expect(more).toEqual([]);
    },
  );

  it('F6: warns of a server that evicts held locks', async () => {
    await scene.client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const app = await scene.app();
    await scene.client.config('SET', 'maxmemory-policy', 'noeviction');
    expect(warningsOf(app)).toEqual([
      `Redis at 127.0.0.1:${scene.server.port} has the maxmemory-policy allkeys-lru: when its memory is full it evicts ` +
        'keys, including held locks. Set maxmemory-policy to noeviction, or move the locks to a separate server.',
    ]);
  });

  it('F9: a user with the recommended rules can do everything and gets no warning', async () => {
    const redis = await scene.server.addUser('exact', 'secret', aclRules({ prefix: 'lock:' }, oneServer));
    const [one, two] = [await scene.app({ redis }), await scene.app({ redis })];
    expect([...warningsOf(one), ...warningsOf(two)]).toEqual([]);
    await exercise(one, two, scene.key());
    await scene.nothingLeft();
    expect(await deniedBy(scene.client)).toEqual([]);
  });

  it('F9: the recommended rules are those of the documentation', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/stores/redis.md'), 'utf8');
    const [one, cluster] = [oneServer, { ...oneServer, cluster: true, sharded: true }].map(
      (used) =>
        `ACL SETUSER locks on >secret resetchannels ${aclRules({ prefix: 'lock:' }, used).join(' ')}\n`,
    );
    expect(page).toContain(one);
    expect(page).toContain(cluster);
  });

  it.each(aclRules({ prefix: 'lock:' }, oneServer))(
    'F9: finds at start that %s is missing',
    async (missing) => {
      const rules = aclRules({ prefix: 'lock:' }, oneServer);
      const redis = await scene.server.addUser(
        'lacking',
        'secret',
        rules.filter((rule) => rule !== missing),
      );
      const app = await scene.app({ redis });
      const warnings = warningsOf(app);
      expect(warnings).toHaveLength(1);
      const [warning = ''] = warnings;
      expect(warning).toContain('The user "lacking" of Redis at 127.0.0.1');
      if (missing.startsWith('+')) expect(warning).toContain(missing.slice(1).toUpperCase());
      expect(warning).toContain(`ACL SETUSER lacking ${rules.join(' ')}`);
      expect(warning).not.toContain('secret');
    },
  );

  it('F68, F9: without PUBSUB locks are handed over at once and health is up; one warning names the cost', async () => {
    const rules = aclRules({ prefix: 'lock:' }, oneServer).filter((rule) => rule !== '+pubsub');
    const redis = await scene.server.addUser('few', 'secret', rules);
    const [one, two] = [await scene.app({ redis }), await scene.app({ redis })];
    expect(warningsOf(one)).toEqual([
      expect.stringMatching(/lacks a right, so that each waiter that has died delays .* by 2 s: PUBSUB/),
    ]);
    await exercise(one, two, scene.key());
    const client = await PortClient.open(new RedisLockStore(redis, 'lock:'));
    await client.verify();
    await client.close();
    await scene.nothingLeft();
  });

  it.each([{}, { limit: 2, permits: 2 }])(
    'F68, P14: without PUBLISH waiters with short leases keep their order (%j); one warning names the right',
    async (kind) => {
      const rules = aclRules({ prefix: 'lock:' }, oneServer).filter((rule) => rule !== '+publish');
      const redis = await scene.server.addUser('silent', 'secret', rules);
      const [one, two, three] = [
        await scene.app({ redis }),
        await scene.app({ redis }),
        await scene.app({ redis }),
      ];
      expect(warningsOf(one)).toEqual([expect.stringContaining('lacks rights that locks need: PUBLISH')]);
      const key = scene.key();
      const order: LockApp[] = [];
      const held = await one.locks.acquire(key, kind);
      const waiting: Promise<void>[] = [];
      for (const app of [two, three]) {
        // Shorter than the time until the next poll.
        const call = { ...kind, leaseTime: 200, waitTime: 20_000 };
        const work = (): void => void order.push(app);
        waiting.push(app.locks.withLock(key, call, work));
        await queuedIn(app, key);
      }
      await held.release();
      await within(10_000, 'both', Promise.all(waiting));
      expect(order.map((app) => (app === two ? 'two' : 'three'))).toEqual(['two', 'three']);
      await scene.nothingLeft();
    },
  );

  it('F9: the rules of a prefix allow nothing else', async () => {
    const rules = aclRules({ prefix: 'my*app:' }, oneServer);
    const redis = await scene.server.addUser('starred', 'secret', rules);
    const app = await scene.app({ redis, keyPrefix: 'my*app:' });
    expect(warningsOf(app)).toEqual([]);
    await app.locks.withLock('key', () => undefined);
    const other = await scene.app({ redis, keyPrefix: 'my-app:' });
    expect(warningsOf(other)).toHaveLength(1);
    expect(await rejectionOf(other.locks.acquire('key'))).toBeInstanceOf(LockUnavailableError);
  });

  it('checks a server that starts later, once', async () => {
    const server = await RedisServer.start({ settings: { 'maxmemory-policy': 'volatile-lru' } });
    scene.until({ kill: () => server.close() });
    await server.kill();
    const app = await scene.app({ redis: server.url });
    expect(app.log.matching('maxmemory-policy')).toEqual([]);
    await server.restart();
    const warnings = (): readonly string[] => app.log.matching('maxmemory-policy volatile-lru');
    await until('the warning', () => warnings().length === 1);
    await server.restart();
    await (await app.locks.acquire(scene.key(), { waitTime: 10_000 })).release();
    await app.close();
    expect(warnings()).toHaveLength(1);
  });

  it('reports that a server is a replica, and the number of replicas of a primary', async () => {
    const { host, port } = scene.server;
    const replica = await RedisServer.start();
    scene.until({ kill: () => replica.close() });
    await replica.client().replicaof(host, port);
    const atReplica = await scene.app({ redis: replica.url });
    expect(warningsOf(atReplica)).toEqual([
      `Redis at 127.0.0.1:${replica.port} is a replica, where no lock can be acquired. Give the address of its primary, or ` +
        "of Sentinel: redis: { sentinels: [{ host, port }], name: 'mymaster' }.",
    ]);
    await atReplica.close();
    const info = async (): Promise<string> => scene.client.info('replication');
    await within(
      10_000,
      'the replica',
      (async () => {
        while (!(await info()).includes('connected_slaves:1'));
      })(),
    );
    const atPrimary = await scene.app({ replicas: { min: 2 } });
    expect(atPrimary.log.matching('Locks are kept')[0]).toContain('noeviction, 1 replica)');
    expect(warningsOf(atPrimary)).toEqual([
      `Redis at 127.0.0.1:${port} has 1 replica connected, but replicas.min is 2: no lock can be acquired with fewer. ` +
        'Connect replicas, or lower replicas.min.',
    ]);
  });
});

describe('the check at start of a quorum', () => {
  const scene = new TopologyScene(
    () => ServerFleet.start(3),
    ({ urls }) => ({ quorum: urls }),
  );

  it('F9: a user with the recommended rules can do everything, and gets no warning', async () => {
    const rules = aclRules({ prefix: 'lock:' }, oneServer);
    const quorum = await Promise.all(
      scene.servers.servers.map((server) => server.addUser('exact', 'secret', rules)),
    );
    const [one, two] = [await scene.app({ quorum }), await scene.app({ quorum })];
    expect([...warningsOf(one), ...warningsOf(two)]).toEqual([]);
    expect(one.log.matching('Locks are kept')).toHaveLength(1);
    await exercise(one, two, scene.key());
    await scene.nothingLeft();
    for (const client of scene.servers.clients) expect(await deniedBy(client)).toEqual([]);
  });
});

describe('the check at start in a Redis Cluster', () => {
  const scene = new TopologyScene(
    () => RedisCluster.start({ replicasEach: 0 }),
    ({ nodes }) => ({ redis: { nodes } }),
  );

  it('logs one line when all is well', async () => {
    const app = await scene.app();
    expect(app.log.matching('Locks are kept')[0]).toMatch(
      /^Locks are kept in Redis Cluster at [\d.:, ]+ \(3 primaries, each (Redis|Valkey) \d+\.\d+\.\d+, noeviction\), prefix "lock:", as client/,
    );
    expect(warningsOf(app)).toEqual([]);
    expect((await scene.servers.keys()).filter((key) => key.includes('check'))).toEqual([]);
  });

  it('reports that a node is used as a single server, and what to configure', async () => {
    const [node] = await scene.servers.primaries();
    const app = await scene.app({ redis: node!.url });
    expect(warningsOf(app)).toHaveLength(1);
    expect(warningsOf(app)[0]).toContain(
      `is part of a Redis Cluster, but is used as a single server: locks in slots of other servers can't be acquired. ` +
        `Give redis: { nodes: ['redis://127.0.0.1:${node!.port}'] } instead.`,
    );
  });

  it('F9: a user with the recommended rules can do everything, and gets no warning', async () => {
    const rules = aclRules({ prefix: 'lock:' }, { ...oneServer, cluster: true, sharded: redisMajor() >= 7 });
    for (const server of await scene.servers.primaries()) await server.addUser('exact', 'secret', rules);
    const options = { redisOptions: { username: 'exact', password: 'secret' } };
    const redis = { nodes: scene.servers.nodes, options };
    const [one, two] = [await scene.app({ redis }), await scene.app({ redis })];
    expect([...warningsOf(one), ...warningsOf(two)]).toEqual([]);
    for (let round = 0; round < 5; round += 1) await exercise(one, two, scene.key());
    await scene.nothingLeft();
    for (const server of await scene.servers.primaries()) {
      expect(await deniedBy(server.client())).toEqual([]);
    }
  });

  it('F9: finds missing rules at the start, on each server', async () => {
    const rules = aclRules({ prefix: 'lock:' }, { ...oneServer, cluster: true, sharded: redisMajor() >= 7 });
    const lacking = rules.filter((rule) => !rule.endsWith('publish') && rule !== '+zadd');
    for (const server of await scene.servers.primaries()) await server.addUser('lacking', 'secret', lacking);
    const options = { redisOptions: { username: 'lacking', password: 'secret' } };
    const app = await scene.app({ redis: { nodes: scene.servers.nodes, options } });
    expect(warningsOf(app)).toHaveLength(3);
    for (const warning of warningsOf(app)) {
      expect(warning).toContain(redisMajor() >= 7 ? 'ZADD, SPUBLISH' : 'ZADD, PUBLISH');
      expect(warning).toContain(`ACL SETUSER lacking ${rules.join(' ')}`);
    }
  });
});

describe('F64: a server, or a proxy in front of it, without INFO', () => {
  const endings = new Endings();
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start({ settings: { 'rename-command': ['INFO', '""'] } });
  });
  afterAll(() => server.close());

  it.each([{}, { enableReadyCheck: false }])('keeps locks (%j)', async (options) => {
    const redis = { port: server.port, ...options };
    const app = endings.app(await LockApp.start({ redis }));
    const other = endings.app(await LockApp.start({ redis }));
    const held = await app.locks.acquire('key', { waitTime: 10_000 });
    const waiting = other.locks.acquire('key', { waitTime: 10_000 });
    await queuedIn(other, 'key');
    await held.release();
    await (await waiting).release();
  });
});
