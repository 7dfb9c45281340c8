import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LockTimeoutError, LockUnavailableError } from '../../lib/index.js';
import { Endings } from '../support/endings.js';
import { leftoversOf } from '../support/leftovers.js';
import { LockApp } from '../support/lock-app.js';
import { RedisServer } from '../support/redis-server.js';
import { stopwatch } from '../support/stopwatch.js';
import { elapse, next, rejectionOf, until, within } from '../support/until.js';
import { WorkerProcess } from '../support/worker-process.js';

const patient = { waitTime: 20_000 };

describe('a quorum of five servers', () => {
  let servers: RedisServer[] = [];
  const stopped = new Set<RedisServer>();
  // Applications close when the servers reply again.
  afterEach(() => resume());
  const endings = new Endings();

  const app = async (
    settings: { watchdogTimeout?: number; onUnavailable?: 'local' } = {},
  ): Promise<LockApp> => {
    const quorum = servers.map(({ url }) => url);
    return endings.app(await LockApp.start({ quorum, shutdownTimeout: 50, ...settings }));
  };
  const key = (): string => `key-${randomUUID()}`;
  const stop = (...some: readonly RedisServer[]): void => {
    for (const server of some) {
      server.stop();
      stopped.add(server);
    }
  };
  const resume = (): void => {
    for (const server of stopped) server.resume();
    stopped.clear();
  };
  /** Locks and queues on the servers, without tombstones and token counters. */
  const leftovers = async (some: readonly RedisServer[]): Promise<string[]> => {
    const each = some.map(async (server) => {
      const client = server.client();
      const left = await leftoversOf(client);
      client.disconnect();
      return left;
    });
    return (await Promise.all(each)).flat();
  };
  const nothingLeft = async (some: readonly RedisServer[]): Promise<void> => {
    await until('nothing is left', async () => (await leftovers(some)).length === 0);
  };
  /** The median time to acquire and release a lock, ms. */
  const cost = async (locks: LockApp['locks']): Promise<number> => {
    const times: number[] = [];
    for (let round = 0; round < 60; round++) {
      const start = performance.now();
      await locks.withLock(key(), () => undefined);
      times.push(performance.now() - start);
    }
    return times.sort((one, other) => one - other)[30] ?? NaN;
  };

  beforeAll(async () => {
    servers = await RedisServer.startAll(5);
  });
  beforeEach(async () => {
    await Promise.all(servers.map((server) => server.restart()));
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.close()));
  });

  it.each(['killed', 'stopped'] as const)(
    'F15: with two of five %s, holders, new callers and waiters are served at normal speed',
    async (how) => {
      const [a, b] = [await app({ watchdogTimeout: 3_000 }), await app({ watchdogTimeout: 3_000 })];
      const usual = await cost(a.locks);
      const name = key();
      const held = await a.locks.acquire(name);
      const two = servers.slice(0, 2);
      if (how === 'stopped') stop(...two);
      else await Promise.all(two.map((server) => server.kill()));
      // Generous: a request that waits for one of the two takes hundreds of times as long.
      expect(await cost(a.locks)).toBeLessThan(Math.max(usual * 10, 20));
      const waiting = b.locks.acquire(name, patient);
      await elapse(3_500);
      expect(held.isHeld).toBe(true);
      expect(await held.release()).toBe('released');
      const next = await within(1_900, 'the next holder', waiting);
      expect(next.token).toBeGreaterThan(held.token);
      expect(await b.locks.isLocked(name)).toBe(true);
      await next.release();
      expect(a.events('lost')).toEqual([]);
      await nothingLeft(servers.slice(2));
      resume();
      if (how === 'killed') await Promise.all(two.map((server) => server.restart()));
      await until('all five take part again', async () => {
        const handle = await a.locks.acquire(key());
        const count = (await leftovers(servers)).length;
        await handle.release();
        return count === 5;
      });
      await nothingLeft(servers);
    },
    40_000,
  );

  it('F1: a hold is kept while a majority has it, and lost once too few of the reachable servers have it', async () => {
    // Renewals are 20 s apart.
    const a = await app({ watchdogTimeout: 60_000 });
    const watched = await a.locks.acquire(key());
    const fixed = await a.locks.acquire(key(), { leaseTime: 60_000 });
    const isConfirmed = ({ key: name }: { key: string }): Promise<unknown> =>
      next(a.locks.events, (event) => event.type === 'renewed' && event.key === name, 8_000);
    for (const server of servers.slice(0, 2)) {
      const confirmed = [watched, fixed].map(isConfirmed);
      await server.restart();
      await Promise.all(confirmed);
    }
    expect([watched.isHeld, fixed.isHeld]).toEqual([true, true]);
    const lost = [watched, fixed].map(({ key: name }) =>
      next(a.locks.events, (event) => event.type === 'lost' && event.key === name, 8_000),
    );
    await servers[2]?.restart();
    await Promise.all(lost);
  });

  it.each(['killed', 'stopped'] as const)(
    'F15: with three of five %s, acquires fail in time, nothing stays held, and locks work again after recovery',
    async (how) => {
      const a = await app();
      await a.locks.withLock(key(), () => undefined);
      const three = servers.slice(0, 3);
      if (how === 'stopped') stop(...three);
      else await Promise.all(three.map((server) => server.kill()));
      for (const waitTime of [0, 400]) {
        const took = stopwatch();
        const error = await within(5_000, 'an answer', rejectionOf(a.locks.acquire(key(), { waitTime })));
        expect(error).toBeInstanceOf(LockUnavailableError);
        expect(took()).toBeLessThan(waitTime + 1_500);
      }
      await nothingLeft(servers.slice(3));
      resume();
      if (how === 'killed') await Promise.all(three.map((server) => server.restart()));
      const handle = await a.locks.acquire(key(), patient);
      expect(await handle.release()).toBe('released');
      await nothingLeft(servers);
    },
    40_000,
  );

  it.each(['killed', 'stopped'] as const)(
    'B65, P42: with three of five %s, locks are held in this process, and in the quorum after recovery',
    async (how) => {
      const a = await app({ onUnavailable: 'local', watchdogTimeout: 20_000 });
      const three = servers.slice(0, 3);
      const kept = await a.locks.acquire(key());
      const [second, ...others] = three;
      // With two servers down there still is a majority.
      await Promise.all(others.map((server) => server.kill()));
      const still = await a.locks.acquire(key());
      expect([still.local, a.events('local')]).toEqual([false, []]);
      if (how === 'stopped' && second) stop(second);
      else await second?.kill();
      const local = await within(12_000, 'a lock of this process', a.locks.acquire(key(), patient));
      expect([local.local, kept.local, still.local]).toEqual([true, false, false]);
      expect(await a.locks.tryAcquire(kept.key)).toBeNull();
      const back = next(a.locks.events, (event) => event.type === 'local' && !event.local);
      resume();
      await Promise.all((how === 'killed' ? three : others).map((server) => server.restart()));
      await back;
      const stored = await a.locks.acquire(key(), patient);
      expect([stored.local, local.isHeld, await a.locks.isLocked(stored.key)]).toEqual([false, true, true]);
      for (const handle of [kept, still, local, stored]) await handle.release();
      expect(a.events('local').map((event) => event.local)).toEqual([true, false]);
      await nothingLeft(servers);
    },
    40_000,
  );

  it('F52: a hold that a majority has lost is released at the servers that still have it', async () => {
    const a = await app({ watchdogTimeout: 60_000 });
    const lost = await a.locks.acquire(key());
    const waiting = a.locks.acquire(lost.key, patient);
    await until('it waits', () => a.admin.waiting().length === 1);
    await Promise.all(
      servers.slice(0, 3).map(async (server) => {
        const client = server.client();
        await client.flushall();
        client.disconnect();
      }),
    );
    const handle = await waiting;
    expect([lost.isHeld, handle.token > lost.token]).toEqual([false, true]);
    await handle.release();
    await nothingLeft(servers);
  });

  it('F56: with one server down, no cursor makes the quorum count as unreachable', async () => {
    const a = await app();
    await servers[4]?.kill();
    const handle = await a.locks.acquire(key(), patient);
    expect((await a.admin.list({ cursor: '4.1@' })).locks).toEqual([]);
    const error = await rejectionOf(a.admin.list({ cursor: '4.2@' }));
    expect([error, a.admin.status().store.reachable]).toEqual([expect.any(LockUnavailableError), true]);
    expect([a.admin.status().store.failingSince, a.events('unavailable')]).toEqual([undefined, []]);
    await handle.release();
  });

  it('P42: a server that restarts empty during a hold does not let another caller acquire the lock', async () => {
    const [a, b] = [await app({ watchdogTimeout: 1_500 }), await app({ watchdogTimeout: 1_500 })];
    const name = key();
    const held = await a.locks.acquire(name);
    await servers[0]?.restart();
    const error = await rejectionOf(b.locks.acquire(name, { waitTime: 2_500 }));
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(held.isHeld).toBe(true);
    expect(await held.release()).toBe('released');
    await (await b.locks.acquire(name, patient)).release();
    await nothingLeft(servers);
  });

  it('P42: an application starts with two servers missing and logs that; with three it logs which', async () => {
    await Promise.all(servers.slice(0, 2).map((server) => server.kill()));
    const a = await app();
    expect(a.log.matching(/a quorum of 5 servers .*\(2 of them missing\)/)).toHaveLength(1);
    await a.locks.withLock(key(), () => undefined);
    await servers[2]?.kill();
    const b = await app();
    // On a busy machine it may not have connected to both others yet.
    const [line] = b.log.matching(/[0-2] of 5 servers are connected, and 3 are needed/);
    for (const server of servers.slice(0, 3)) expect(line).toContain(`127.0.0.1:${server.port}`);
    await Promise.all(servers.slice(0, 3).map((server) => server.restart()));
    expect(await b.locks.withLock(key(), patient, () => 'works')).toBe('works');
  });

  it('B13, P42: fifty waiters in four processes exclude each other, and all are served', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'quorum-witness-'));
    const options = { quorum: servers.map(({ url }) => url) };
    const workers = await Promise.all([1, 2, 3, 4].map(() => WorkerProcess.start(options)));
    for (const worker of workers) endings.until({ close: () => worker.kill() });
    const name = key();
    const loops = workers.flatMap((worker, index) =>
      Array.from({ length: 12 + (index % 2) }, (_, loop) =>
        worker.do('loop', {
          key: name,
          options: patient,
          name: `${loop}`,
          work: 1,
          witness: join(directory, 'inside'),
        }),
      ),
    );
    await elapse(2_000);
    // One server dies, another one is stopped for a while.
    await servers[0]?.kill();
    stop(...servers.slice(1, 2));
    await elapse(1_500);
    resume();
    await servers[0]?.restart();
    await elapse(1_500);
    for (const [index, worker] of workers.entries()) {
      for (let loop = 0; loop < 12 + (index % 2); loop++) await worker.do('stopLoop', { name: `${loop}` });
    }
    const reports = await within(25_000, 'the end of all', Promise.all(loops));
    expect(reports).toHaveLength(50);
    for (const { overlaps, rounds, errors } of reports) {
      expect(errors).toEqual([]);
      expect(overlaps).toBe(0);
      expect(rounds).toBeGreaterThan(0);
    }
    const tokens = reports.flatMap((report) => report.tokens);
    expect(new Set(tokens).size).toBe(tokens.length);
    await nothingLeft(servers);
    for (const worker of workers) expect(worker.unhandled).toEqual([]);
    await rm(directory, { recursive: true, force: true });
  });
});
