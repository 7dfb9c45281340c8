import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { LockTimeoutError, LockUnavailableError, LockUnsupportedError } from '../../lib/index.js';
import { redissonStore } from '../../lib/stores/redisson/index.js';
import { LockApp } from '../support/lock-app.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { whereThereIs } from '../support/where-there-is.js';
import { wakeUps } from './contest.mjs';
import { LockProcess } from './lock-process.mjs';

const paths = process.env['REDISSON_CLASS_PATHS'];
/** The class path of the Java client for each version of Redisson; set by `npm run test:stores`. */
const classPaths = Object.entries(JSON.parse(paths ?? '{}') as Readonly<Record<string, string>>);

const CONTEST = fileURLToPath(new URL('contest.mjs', import.meta.url));

/** Much shorter than any lease: what is served later was not woken. */
const SOON = 500;

/** Longer than any wait on a machine with much other load. */
const STARVED = 3_000;

whereThereIs('Redisson and Java', paths)('one lock with Java', () => {
  describe.each(classPaths)('Redisson %s', (_version, classPath) => {
    let server: RedisServer;
    let redis: Redis;
    let java: LockProcess;
    const apps: LockApp[] = [];
    const app = async (watchdogTimeout = 30_000): Promise<LockApp> => {
      const store = redissonStore({ redis: server.url });
      const started = await LockApp.start({ store, watchdogTimeout, shutdownTimeout: 100 });
      apps.push(started);
      return started;
    };
    const key = (): string => `order:${randomUUID()}`;

    beforeAll(async () => {
      server = await RedisServer.start();
      redis = server.client();
      java = await LockProcess.java(classPath, [server.url]);
    });
    afterEach(async () => {
      await Promise.all(apps.splice(0).map((each) => each.close()));
    });
    afterAll(async () => {
      await java.close();
      await server.close();
    });

    it('J1: a hold of Node.js keeps Java out, as isLocked, remainTimeToLive and tryLock show', async () => {
      const { locks } = await app();
      const name = key();
      const hold = await locks.acquire(name);
      expect(await java.ask('a', 'isLocked', name)).toBe('true');
      const left = Number(await java.ask('a', 'timeToLive', name));
      expect(left).toBeGreaterThan(20_000);
      expect(left).toBeLessThanOrEqual(30_000);
      expect(await java.ask('a', 'tryLock', name, 0, -1)).toBe('false');
      const fields = await redis.hgetall(name);
      expect(Object.entries(fields).filter(([field]) => /^[^:]+:\d+$/.test(field))).toEqual([
        [expect.any(String), '1'],
      ]);
      await hold.release();
      expect(await java.ask('a', 'tryLock', name, 0, -1)).toBe('true');
      await java.ask('a', 'unlock', name);
    });

    it('J1: a hold of Java keeps Node.js out until it is unlocked as often as it was locked', async () => {
      const { locks, admin } = await app();
      const name = key();
      await java.ask('a', 'lock', name);
      await java.ask('a', 'lock', name);
      await expect(locks.acquire(name, { waitTime: 0 })).rejects.toThrow(LockTimeoutError);
      expect(await admin.inspect(name)).toMatchObject({ holders: [{ token: undefined }] });
      await java.ask('a', 'unlock', name);
      expect(await locks.tryAcquire(name)).toBeNull();
      await java.ask('a', 'unlock', name);
      await (await locks.acquire(name, { waitTime: 0 })).release();
    });

    it('J1: forceUnlock of Java ends a hold of Node.js, which notices it at its next renewal', async () => {
      const { locks } = await app(600);
      const name = key();
      const hold = await locks.acquire(name);
      expect(await java.ask('a', 'forceUnlock', name)).toBe('true');
      await until('the loss is noticed', () => hold.signal.aborted);
      expect(await java.ask('a', 'tryLock', name, 0, -1)).toBe('true');
      expect(await hold.release()).toBe('expired');
      expect(await java.ask('a', 'isLocked', name)).toBe('true');
      await java.ask('a', 'unlock', name);
    });

    it('J1, J2: a break by Node.js frees a lock of Java and wakes the waiters of both', async () => {
      const { locks, admin } = await app();
      const name = key();
      await java.ask('a', 'lock', name);
      const waiting = java.ask('b', 'lock', name);
      await until('Java waits', async () => (await redis.pubsub('NUMSUB', channelOf(name)))[1] === 1);
      expect(await admin.forceRelease(name)).toBe(true);
      await waiting;
      await expect(java.ask('a', 'unlock', name)).rejects.toThrow('IllegalMonitorState');
      const next = locks.acquire(name);
      await until('Node.js waits', async () => (await redis.pubsub('NUMSUB', channelOf(name)))[1] === 1);
      expect(await java.ask('a', 'forceUnlock', name)).toBe('true');
      await (await next).release();
    });

    it('J2: a release wakes a waiter of the other side, which need not poll', async () => {
      const node = await LockProcess.node([server.url]);
      const { toNode, toJava } = await wakeUps({ url: server.url, java, node, rounds: 50 });
      await node.close();
      for (const times of [toNode, toJava]) expect(times.at(-2)).toBeLessThan(SOON * 1_000);
    }, 60_000);

    it('J2: the end of a holdAtLeast wakes Java', async () => {
      const { locks } = await app();
      const name = key();
      const startedAt = performance.now();
      await locks.withLock(name, { holdAtLeast: 600 }, () => undefined);
      await java.ask('a', 'lock', name);
      expect(performance.now() - startedAt).toBeGreaterThan(590);
      expect(performance.now() - startedAt).toBeLessThan(600 + SOON);
      await java.ask('a', 'unlock', name);
    });

    it('J3: tokens of Node.js and of RFencedLock are one growing sequence', async () => {
      const { locks } = await app();
      const name = key();
      const tokens: number[] = [];
      for (let round = 0; round < 5; round += 1) {
        const holds = Array.from({ length: 3 }, () =>
          locks.withLock(name, ({ token }) => void tokens.push(token)),
        );
        await Promise.all(holds);
        tokens.push(Number(await java.ask('a', 'fencedLock', name)));
        await java.ask('a', 'unlock', name);
      }
      expect(tokens).toEqual([...tokens].sort((one, other) => one - other));
      expect(new Set(tokens).size).toBe(tokens.length);
      expect(Number(await redis.get(`redisson_lock_token:{${name}}`))).toBeGreaterThanOrEqual(
        tokens.at(-1) ?? 0,
      );
    });

    it('J8: a Node.js service joins a Java service under load, which then stops: no overlap, and no caller starves', async () => {
      const service = await LockProcess.java(classPath, [server.url]);
      const names = [key(), key(), key()];
      const use = (side: LockProcess, callers: number, ms: number): Promise<string[]> =>
        Promise.all(names.map((name) => side.ask(name, 'contend', name, `guarded:${name}`, callers, ms)));
      // Cold code of Java takes longer.
      await use(service, 3, 1_000);
      await redis.del(names.map((name) => `guarded:${name}`));
      const byJava = use(service, 3, 3_000);
      const node = await LockProcess.node([server.url]);
      const byNode = use(node, 3, 4_000);
      const served = [await byJava];
      await service.close();
      served.push(await byNode);
      await node.close();
      const counts = served.flat().map((reply) => reply.split(' ').map(Number));
      for (const [holds = 0, written, refused, longest] of counts) {
        expect({ written, refused }).toEqual({ written: holds, refused: 0 });
        expect(holds).toBeGreaterThan(0);
        expect(longest).toBeLessThan(STARVED);
      }
      const values = await Promise.all(names.map((name) => redis.hget(`guarded:${name}`, 'value')));
      const all = (numbers: readonly unknown[]): number =>
        numbers.reduce((sum: number, each) => sum + Number(each), 0);
      expect(all(values)).toBe(all(counts.map(([holds]) => holds)));
    }, 30_000);

    it('J5: a read lock of RReadWriteLock keeps Node.js out, and is left as it is', async () => {
      const { locks, admin } = await app();
      const name = key();
      await java.ask('a', 'readLock', name);
      const before = await redis.hgetall(name);
      await expect(locks.acquire(name, { waitTime: 50 })).rejects.toThrow(LockTimeoutError);
      await expect(admin.forceRelease(name)).rejects.toThrow('RReadWriteLock');
      expect(await redis.hgetall(name)).toEqual(before);
      const next = locks.acquire(name);
      await java.ask('a', 'readUnlock', name);
      await (await next).release();
    });

    it('J5: an RSemaphore of the name is named, and left as it is', async () => {
      const { locks, admin } = await app();
      const name = key();
      await java.ask('a', 'setPermits', name, 3);
      const failed = locks.acquire(name);
      await expect(failed).rejects.toThrow(LockUnavailableError);
      await expect(failed).rejects.toThrow('in use by another object of Redis (string)');
      await expect(admin.forceRelease(name)).rejects.toThrow('(string)');
      expect(await redis.get(name)).toBe('3');
    });

    it('J5: Node.js does not overtake the first waiter of an RFairLock, and its release wakes it', async () => {
      const { locks } = await app();
      const name = key();
      const hold = await locks.acquire(name);
      const fair = java.ask('a', 'fairLock', name);
      await until('Java waits', async () => (await redis.llen(`redisson_lock_queue:{${name}}`)) === 1);
      const releasedAt = now();
      await hold.release();
      expect(await locks.tryAcquire(name)).toBeNull();
      expect(Number(await fair) - releasedAt).toBeLessThan(SOON * 1_000);
      await java.ask('a', 'fairUnlock', name);
      await (await locks.acquire(name)).release();
    });

    it('J7: both watchdogs keep their locks for longer than a lease', async () => {
      const short = await LockProcess.java(classPath, [server.url], 900);
      const { locks } = await app(900);
      const [one, other] = [key(), key()];
      const startedAt = performance.now();
      await short.ask('a', 'lock', one);
      const hold = await locks.acquire(other);
      await until('both were renewed', async () => {
        const renewals = await Promise.all([one, other].map((name) => redis.pttl(name)));
        return performance.now() - startedAt > 1_500 && renewals.every((left) => left > 0);
      });
      expect(hold.isHeld).toBe(true);
      await hold.release();
      await short.close();
      await (await locks.acquire(one)).release();
    });

    it('J7: no increment is lost, whatever is killed, stopped or broken by force', async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [
        CONTEST,
        server.url,
        classPath,
        '8',
      ]).catch((error: unknown) => error as { stdout: string });
      expect(JSON.parse(stdout)).toMatchObject({ findings: [] });
    }, 60_000);
  });

  it('J6: one lock in a Redis Cluster, with messages both ways', async () => {
    const cluster = await RedisCluster.start({ replicasEach: 0 });
    const [, classPath = ''] = classPaths.at(-1) ?? [];
    const addresses = cluster.nodes.map(({ host, port }) => `redis://${host}:${String(port)}`);
    const java = await LockProcess.java(classPath, addresses);
    const app = await LockApp.start({ store: redissonStore({ redis: { nodes: [...cluster.nodes] } }) });
    try {
      for (const name of [`order:${randomUUID()}`, `order:{${randomUUID()}}`, randomUUID()]) {
        await java.ask('a', 'lock', name);
        const waiting = app.locks.acquire(name);
        await until('Node.js waits', () => app.events('queued', name).length === 1);
        const unlocked = java.ask('a', 'unlock', name);
        const hold = await waiting;
        expect(now() - Number(await unlocked)).toBeLessThan(SOON * 1_000);
        const next = java.ask('a', 'lock', name);
        await until('Java waits', async () => (await app.admin.inspect(name))?.waiting === 1);
        const releasedAt = now();
        await hold.release();
        expect(Number(await next) - releasedAt).toBeLessThan(SOON * 1_000);
        await java.ask('a', 'unlock', name);
      }
    } finally {
      await app.close();
      await java.close();
      await cluster.close();
    }
  }, 60_000);
});

describe('redissonStore', () => {
  it('J2: a release and a break wake a waiter of another Node.js process, which need not poll', async () => {
    const server = await RedisServer.start();
    const start = (): Promise<LockApp> => LockApp.start({ store: redissonStore({ redis: server.url }) });
    const [one, other] = [await start(), await start()];
    for (const end of ['release', 'break'] as const) {
      const name = `order:${randomUUID()}`;
      const hold = await one.locks.acquire(name);
      const waiting = other.locks.acquire(name);
      await until('the other process waits', () => other.events('queued', name).length === 1);
      const endedAt = performance.now();
      if (end === 'release') await hold.release();
      else await one.admin.forceRelease(name);
      const next = await waiting;
      expect(performance.now() - endedAt).toBeLessThan(SOON);
      await next.release();
    }
    await Promise.all([one, other].map((app) => app.close()));
    await server.close();
  });

  it('J4: while another client listens, a process frees the lock after at most 8 of its callers', async () => {
    const server = await RedisServer.start();
    const app = await LockApp.start({ store: redissonStore({ redis: server.url }) });
    const name = `order:${randomUUID()}`;
    const listener = server.client();
    let freed = 0;
    listener.on('message', () => (freed += 1));
    await listener.subscribe(channelOf(name));
    const calls = Array.from({ length: 40 }, () =>
      app.locks.withLock(name, { waitTime: 60_000 }, () => undefined),
    );
    await Promise.all(calls);
    await app.close();
    await until('it was freed five times', () => freed >= 5).finally(() => server.close());
  });

  it('J4: refuses what an RLock lacks before it sends anything', async () => {
    // Nothing listens there.
    const app = await LockApp.start({ store: redissonStore({ redis: 'redis://127.0.0.1:1' }) });
    for (const options of [
      { fair: true },
      { mode: 'shared' },
      { limit: 3 },
      { limit: 3, permits: 2 },
    ] as const) {
      const failed = app.locks.acquire('key', options);
      await expect(failed).rejects.toThrow(LockUnsupportedError);
      await expect(failed).rejects.toThrow(/RLock and RFencedLock/);
    }
    await app.close();
  });
});

function channelOf(name: string): string {
  return `redisson_lock__channel:{${name}}`;
}

/** Microseconds since 1970, as Java reports them. */
function now(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1_000);
}
