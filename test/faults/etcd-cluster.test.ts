import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { LockTimeoutError, LockUnavailableError, type LockHandle } from '../../lib/index.js';
import { etcdStore } from '../../lib/stores/etcd/index.js';
import { EtcdCluster } from '../support/etcd-cluster.js';
import type { EtcdServer } from '../support/etcd-server.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { elapse, next, rejectionOf, until, within } from '../support/until.js';
import { whereThereIsEtcd } from '../support/where-there-is-etcd.js';

/** Longer than a new leader takes on a busy machine. */
const patient = { waitTime: 60_000 };

whereThereIsEtcd('faults of an etcd cluster', () => {
  describe('faults of an etcd cluster', () => {
    let started: EtcdCluster | undefined;
    const apps: LockApp[] = [];
    const proxies: TcpProxy[] = [];

    const cluster = (): EtcdCluster => {
      if (!started) throw new Error('the cluster is there only while tests run');
      return started;
    };
    const app = async (
      hosts = cluster().hosts,
      settings: { watchdogTimeout?: number } = {},
    ): Promise<LockApp> => {
      const one = await LockApp.start({ store: etcdStore({ hosts }), shutdownTimeout: 50, ...settings });
      apps.push(one);
      return one;
    };
    const key = (): string => `key-${randomUUID()}`;
    /** An extension is tried once, and there may be no leader then. */
    const extended = (handle: LockHandle, ms: number): Promise<unknown> =>
      until('it is extended', () =>
        handle.extend(ms).then(
          () => true,
          (error: unknown) => {
            if (!(error instanceof LockUnavailableError)) throw error;
            return false;
          },
        ),
      );
    /** The leader is gone while a lock is held and waited for: nobody notices but by the time that it takes. */
    const survives = async (
      lose: (leader: EtcdServer) => unknown,
      bringBack: (leader: EtcdServer) => unknown,
    ): Promise<void> => {
      const [holder, waiter] = [await app(), await app()];
      const [held, free] = [key(), key()];
      const handle = await holder.locks.acquire(held);
      const waiting = waiter.locks.acquire(held, patient);
      await queuedIn(waiter, held);
      const leader = await cluster().leader();
      await lose(leader);
      try {
        const other = await holder.locks.acquire(free, patient);
        await until('others see it', () => waiter.locks.isLocked(free).catch(() => false));
        await other.release();
        expect(handle.isHeld).toBe(true);
        await handle.release();
        const second = await within(60_000, 'the lock', waiting);
        expect(second.token).toBeGreaterThan(handle.token);
        await second.release();
        expect(holder.events('lost')).toEqual([]);
      } finally {
        await bringBack(leader);
        await cluster().ready();
      }
    };

    beforeAll(async () => {
      started = await EtcdCluster.start();
    });
    beforeEach(() => cluster().ready());
    afterEach(async () => {
      await Promise.all(apps.splice(0).map((one) => one.close()));
      await Promise.all(proxies.splice(0).map((one) => one.close()));
    });
    afterAll(async () => {
      await started?.close();
    });

    it('F3: the leader is killed: holds are kept, and waiters are served', () =>
      survives(
        (leader) => leader.kill(),
        (leader) => leader.restart(),
      ));

    it('F3: the leader stands still: holds are kept, and waiters are served', () =>
      survives(
        (leader) => leader.stop(),
        (leader) => leader.resume(),
      ));

    it('F3: a client is cut off from the member that it uses: it goes on with another', async () => {
      for (const member of cluster().members) proxies.push(await TcpProxy.before(member.port));
      const [one, other] = [await app(proxies.map(({ port }) => `127.0.0.1:${port}`)), await app()];
      const held = key();
      const handle = await one.locks.acquire(held);
      const [used] = proxies.filter(({ connections }) => connections.length > 0);
      for (const connection of used?.connections ?? []) connection.swallow('replies');
      await used?.refuse();
      await extended(handle, 60_000);
      expect(handle.isHeld).toBe(true);
      expect(await other.locks.tryAcquire(held)).toBeNull();
      await handle.release();
      await (await other.locks.acquire(held, patient)).release();
    });

    it('B11, F15: without a majority locks are unavailable and holds end in time; with one again they work', async () => {
      const [one, other] = [await app(undefined, { watchdogTimeout: 3_000 }), await app()];
      const [held, free] = [key(), key()];
      const handle = await one.locks.acquire(held);
      const stopped = cluster().members.slice(0, 2);
      for (const member of stopped) await member.stop();
      try {
        expect(await rejectionOf(other.locks.acquire(free, { waitTime: 2_500 }))).toBeInstanceOf(
          LockUnavailableError,
        );
        await until('the hold is lost', () => handle.signal.aborted);
        expect(handle.isHeld).toBe(false);
      } finally {
        for (const member of stopped) member.resume();
      }
      const second = await within(60_000, 'the lock', other.locks.acquire(held, patient));
      expect(second.token).toBeGreaterThan(handle.token);
      await second.release();
      await (await one.locks.acquire(free, patient)).release();
    });

    it('F20: a holder that is not heard of any more: the next has the lock after one lease', async () => {
      const proxy = await TcpProxy.before(cluster().members[0]?.port ?? 0);
      proxies.push(proxy);
      const lost = await app([`127.0.0.1:${proxy.port}`], { watchdogTimeout: 2_000 });
      const waiter = await app();
      const held = key();
      const handle = await lost.locks.acquire(held);
      const waiting = waiter.locks.acquire(held, patient);
      await queuedIn(waiter, held);
      await proxy.refuse();
      proxy.cut();
      const second = await within(60_000, 'the lock', waiting);
      // The one before has known it for some time.
      expect(handle.isHeld).toBe(false);
      await second.release();
    });

    it('F21: five that wait and are not heard of any more don’t cost one claim lease each', async () => {
      const proxy = await TcpProxy.before(cluster().members[0]?.port ?? 0);
      proxies.push(proxy);
      const holder = await app();
      const held = key();
      const handle = await holder.locks.acquire(held);
      for (let count = 0; count < 5; count++) {
        const gone = await app([`127.0.0.1:${proxy.port}`]);
        gone.locks.acquire(held, patient).catch(() => undefined);
        await queuedIn(gone, held);
      }
      const waiter = await app();
      const waiting = waiter.locks.acquire(held, patient);
      await queuedIn(waiter, held);
      await proxy.refuse();
      proxy.cut();
      // etcd's own leases of those who wait are 8 s.
      await until('they are gone', async () => (await holder.locks.inspect(held))?.waiting === 1, {
        deadline: 30_000,
        every: 100,
      });
      await handle.release();
      await (await within(5_000, 'the lock', waiting)).release();
    });

    it('F25: fifty applications at once, whose connections are all cut: each is served, one at a time', async () => {
      const proxy = await TcpProxy.before(cluster().members[1]?.port ?? 0);
      proxies.push(proxy);
      const many = await Promise.all(Array.from({ length: 50 }, () => app([`127.0.0.1:${proxy.port}`])));
      const held = key();
      let [inside, most, served] = [0, 0, 0];
      const calls = many.map(({ locks }) =>
        locks.withLock(held, patient, async () => {
          most = Math.max(most, (inside += 1));
          await elapse(2);
          inside -= 1;
          served += 1;
        }),
      );
      await until('they are at it', () => served > 3);
      expect(proxy.cut()).toBeGreaterThan(0);
      await Promise.all(calls);
      expect({ most, served }).toEqual({ most: 1, served: 50 });
    });

    it('F2: a process that was asleep for longer than etcd’s leases knows that it holds nothing', async () => {
      const proxy = await TcpProxy.before(cluster().members[2]?.port ?? 0);
      proxies.push(proxy);
      const asleep = await app([`127.0.0.1:${proxy.port}`], { watchdogTimeout: 1_000 });
      const other = await app();
      const held = key();
      const handle = await asleep.locks.acquire(held, { leaseTime: 1_500 });
      const letGo = proxy.hold('requests');
      const second = await within(60_000, 'the lock', other.locks.acquire(held, patient));
      expect(handle.isHeld).toBe(false);
      letGo();
      await handle.release();
      expect(second.isHeld).toBe(true);
      expect(await rejectionOf(asleep.locks.acquire(held, { waitTime: 1_000 }))).toBeInstanceOf(
        LockTimeoutError,
      );
      await second.release();
      await (await asleep.locks.acquire(held, patient)).release();
    });

    it('events tell of nothing lost while the leader changes five times', async () => {
      const one = await app();
      const held = key();
      const handle = await one.locks.acquire(held);
      for (let round = 0; round < 5; round++) {
        const leader = await cluster().leader();
        await leader.restart();
        const renewed = next(one.locks.events, (event) => event.type === 'renewed', 60_000);
        await within(60_000, 'a renewal', Promise.all([renewed, extended(handle, 60_000 + round * 10_000)]));
        await cluster().ready();
      }
      expect(handle.isHeld).toBe(true);
      expect(await handle.release()).toBe('released');
      expect(one.events('lost')).toEqual([]);
    });
  });
});
