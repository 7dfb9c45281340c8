import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { LockTimeoutError, LockUnavailableError, type LockHandle, type LockStore } from '../../lib/index.js';
import { zookeeperStore } from '../../lib/stores/zookeeper/index.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { NodesOfLocks } from '../support/nodes-of-locks.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { elapse, next, rejectionOf, until, within } from '../support/until.js';
import { whereThereIsZooKeeper } from '../support/where-there-is-zookeeper.js';
import { WorkerProcess } from '../support/worker-process.js';
import { ZooKeeperCluster } from '../support/zookeeper-cluster.js';
import type { ZooKeeperServer } from '../support/zookeeper-server.js';

/** Longer than a new leader takes on a busy machine. */
const patient = { waitTime: 60_000 };

whereThereIsZooKeeper('faults of a ZooKeeper ensemble', () => {
  describe('faults of a ZooKeeper ensemble', () => {
    let started: ZooKeeperCluster | undefined;
    const apps: LockApp[] = [];
    const proxies: TcpProxy[] = [];
    const workers: WorkerProcess[] = [];

    const cluster = (): ZooKeeperCluster => {
      if (!started) throw new Error('the ensemble is there only while tests run');
      return started;
    };
    const appOn = async (store: LockStore, settings: { watchdogTimeout?: number } = {}): Promise<LockApp> => {
      const one = await LockApp.start({ store, shutdownTimeout: 50, ...settings });
      apps.push(one);
      return one;
    };
    const app = (hosts = cluster().hosts, settings: { watchdogTimeout?: number } = {}): Promise<LockApp> =>
      appOn(zookeeperStore({ hosts }), settings);
    const before = async (member: ZooKeeperServer | undefined): Promise<TcpProxy> => {
      const proxy = await TcpProxy.before(member?.port ?? 0);
      proxies.push(proxy);
      return proxy;
    };
    const addressOf = ({ port }: TcpProxy): string => `127.0.0.1:${String(port)}`;
    const key = (): string => `key-${randomUUID()}`;
    /** Asks until there is a leader. */
    const reached = <T>(ask: () => Promise<T>): Promise<T> =>
      until(
        'it is answered',
        () =>
          ask().then(
            (answer) => ({ answer }),
            (error: unknown) => {
              if (!(error instanceof LockUnavailableError)) throw error;
              return undefined;
            },
          ),
        { deadline: 60_000, every: 20 },
      ).then(({ answer }) => answer);
    const extended = (handle: LockHandle, ms: number): Promise<unknown> => reached(() => handle.extend(ms));
    /** The leader is gone while a lock is held and waited for: nobody notices but by the time that it takes. */
    const survives = async (
      lose: (leader: ZooKeeperServer) => unknown,
      bringBack: (leader: ZooKeeperServer) => unknown,
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
        expect(await reached(() => waiter.locks.isLocked(free))).toBe(true);
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
      started = await ZooKeeperCluster.start();
    }, 120_000);
    beforeEach(() => cluster().ready());
    afterEach(async () => {
      await Promise.all(apps.splice(0).map((one) => one.close()));
      await Promise.all(proxies.splice(0).map((one) => one.close()));
      await Promise.all(workers.splice(0).map((one) => one.kill()));
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

    it('F3: a client is cut off from the member that it uses: it goes on with another, in the same session', async () => {
      for (const member of cluster().members) await before(member);
      const [one, other] = [await app(proxies.map(addressOf)), await app()];
      const held = key();
      const handle = await one.locks.acquire(held);
      const [used] = proxies.filter(({ connections }) => connections.length > 0);
      for (const connection of used?.connections ?? []) connection.swallow('replies');
      await used?.refuse();
      await extended(handle, 35_000);
      expect(handle.isHeld).toBe(true);
      expect(await other.locks.tryAcquire(held)).toBeNull();
      expect(await handle.release()).toBe('released');
      await (await other.locks.acquire(held, patient)).release();
    });

    it('B11, F15: without a majority locks are unavailable and holds end in time; with one again they work', async () => {
      const [one, other] = [await app(undefined, { watchdogTimeout: 3_000 }), await app()];
      const [held, free] = [key(), key()];
      const handle = await one.locks.acquire(held);
      const stopped = cluster().members.slice(0, 2);
      for (const member of stopped) member.stop();
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

    it('F1: a member that comes back without its data knows what is held', async () => {
      const emptied = await cluster().follower();
      const one = await app(cluster().hosts.filter((host) => host !== emptied.address));
      const held = key();
      const handle = await one.locks.acquire(held);
      await emptied.restart(true);
      await cluster().ready();
      const other = await app([emptied.address]);
      expect(await other.locks.tryAcquire(held)).toBeNull();
      expect((await other.locks.inspect(held))?.token).toBe(handle.token);
      expect(await handle.release()).toBe('released');
      const second = await other.locks.acquire(held, patient);
      expect(second.token).toBeGreaterThan(handle.token);
      await second.release();
    });

    it('F20: a holder that is not heard of any more: the next has the lock after one lease', async () => {
      const proxy = await before(cluster().members[0]);
      const lost = await app([addressOf(proxy)], { watchdogTimeout: 2_000 });
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

    it('F22: a process that was stopped until the servers gave its session up knows that it holds nothing, and goes on', async () => {
      const zookeeper = { hosts: cluster().hosts, sessionTimeout: 3_000 };
      const worker = await WorkerProcess.start({ zookeeper, watchdogTimeout: 1_000 });
      workers.push(worker);
      const nodes = await NodesOfLocks.open(cluster().members[0]?.port ?? 0);
      try {
        const other = await app();
        const held = key();
        const token = await worker.do('acquire', { key: held, as: 'hold' });
        const owner = (await other.locks.inspect(held))?.owner ?? 'nobody';
        const client = encodeURIComponent(owner.slice(0, owner.lastIndexOf(':')));
        const livesOn = async (): Promise<boolean> =>
          (await nodes.clients()).some((name) => name.includes(client));
        expect(await livesOn()).toBe(true);
        worker.stop();
        await until('its session is over', async () => !(await livesOn()), { deadline: 60_000, every: 50 });
        const second = await other.locks.acquire(held, patient);
        expect(second.token).toBeGreaterThan(token);
        worker.resume();
        expect(await worker.do('status', { as: 'hold' })).toMatchObject({
          isHeld: false,
          asserted: 'LOCK_LOST',
        });
        await worker.do('release', { as: 'hold' });
        expect(second.isHeld).toBe(true);
        expect(await other.locks.isLocked(held)).toBe(true);
        expect(await second.release()).toBe('released');
        expect(await worker.do('acquire', { key: held, options: patient, as: 'again' })).toBeGreaterThan(
          second.token,
        );
        expect(await worker.do('release', { as: 'again' })).toBe('released');
        expect(worker.unhandled).toEqual([]);
      } finally {
        await nodes.close();
      }
    });

    it('F2: requests of a client that hang until its lease is over change nothing when they arrive', async () => {
      const proxy = await before(cluster().members[2]);
      const asleep = await app([addressOf(proxy)], { watchdogTimeout: 1_000 });
      const other = await app();
      const held = key();
      const handle = await asleep.locks.acquire(held, { leaseTime: 1_500 });
      const letGo = proxy.hold('requests');
      // Seen from its own side, so that the lease is observed.
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

    it('P14: events that never come cost who waits no more than a poll', async () => {
      const store = zookeeperStore({ hosts: cluster().hosts });
      const deaf: LockStore = {
        name: store.name,
        open: (client) => {
          const session = store.open(client);
          Object.assign(session, { event: () => undefined });
          return session;
        },
      };
      const [holder, waiter] = [await app(), await appOn(deaf)];
      const [held, shared] = [key(), key()];
      const handles = [await holder.locks.acquire(held), await holder.locks.acquire(shared, { limit: 2 })];
      handles.push(await holder.locks.acquire(shared, { limit: 2, fair: true }));
      const waiting = [
        waiter.locks.acquire(held, patient),
        waiter.locks.acquire(shared, { ...patient, limit: 2 }),
      ];
      await Promise.all([queuedIn(waiter, held), queuedIn(waiter, shared)]);
      await Promise.all(handles.map((handle) => handle.release()));
      for (const handle of await within(10_000, 'the locks', Promise.all(waiting))) await handle.release();
    });

    it('F25: fifty applications at once, whose connections are all cut: each is served, one at a time', async () => {
      const proxy = await before(cluster().members[1]);
      const many = await Promise.all(Array.from({ length: 50 }, () => app([addressOf(proxy)])));
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

    it('events tell of nothing lost while the leader changes three times', async () => {
      const one = await app();
      const held = key();
      const handle = await one.locks.acquire(held);
      for (let round = 0; round < 3; round++) {
        const leader = await cluster().leader();
        await leader.restart();
        const renewed = next(one.locks.events, (event) => event.type === 'renewed', 60_000);
        await within(60_000, 'a renewal', Promise.all([renewed, extended(handle, 34_000 + round * 1_000)]));
        await cluster().ready();
      }
      expect(handle.isHeld).toBe(true);
      expect(await handle.release()).toBe('released');
      expect(one.events('lost')).toEqual([]);
    });
  });
});
