import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { LockHandle, LockOptions } from '../../lib/index.js';
import { zookeeperStore } from '../../lib/stores/zookeeper/index.js';
import { Endings } from '../support/endings.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { elapse, next, until, within } from '../support/until.js';
import { NodesOfLocks } from '../support/nodes-of-locks.js';
import { whereThereIsZooKeeper } from '../support/where-there-is.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { WorkerProcess } from '../support/worker-process.js';
import { ZooKeeperCluster } from '../support/zookeeper-cluster.js';

/** Extra time for processes and requests on a busy machine, ms. */
const BUSY = 1_000;

whereThereIsZooKeeper('crashed processes with locks in ZooKeeper', () => {
  describe('a crashed process with locks in ZooKeeper', () => {
    let cluster: ZooKeeperCluster | undefined;
    const endings = new Endings();
    beforeAll(async () => {
      cluster = await ZooKeeperCluster.start();
    }, 120_000);
    afterAll(() => cluster?.close());

    const members = (): ZooKeeperCluster => {
      if (cluster === undefined) throw new Error('the servers run only while tests run');
      return cluster;
    };
    const app = async (hosts: readonly string[], watchdogTimeout?: number): Promise<LockApp> => {
      const settings = { shutdownTimeout: 50, ...(watchdogTimeout !== undefined && { watchdogTimeout }) };
      return endings.app(await LockApp.start({ store: zookeeperStore({ hosts }), ...settings }));
    };
    const worker = async (hosts: readonly string[], watchdogTimeout?: number): Promise<WorkerProcess> => {
      const started = await WorkerProcess.start({ zookeeper: { hosts }, watchdogTimeout });
      endings.until({ close: () => started.kill() });
      return started;
    };
    const key = (): string => `key-${randomUUID()}`;

    it.each([2_000, 4_000])(
      'frees them 1.5 times its watchdogTimeout of %d ms later, whenever the next caller comes',
      async (watchdogTimeout) => {
        const { hosts } = members();
        const follower = (await members().follower()).address;
        const held = key();
        // The leader learns late of contacts with other members.
        const holder = await worker([follower], watchdogTimeout);
        await holder.do('acquire', { key: held });
        await elapse(watchdogTimeout);
        // No lock client: a client that watches would measure the lease.
        const nodes = endings.until(await NodesOfLocks.open(members().members[0]?.port ?? 0));
        await holder.kill();
        const killedAt = performance.now();
        const isGone = async (): Promise<boolean> =>
          !(await nodes.entries()).some((entry) => entry.startsWith(held));
        await until('it is free', isGone, { deadline: 60_000, every: 20 });
        const after = performance.now() - killedAt;
        // For the log of measurements.
        process.stdout.write(`free ${after.toFixed(0)} ms after the crash (${String(watchdogTimeout)} ms)\n`);
        expect(after).toBeLessThan(watchdogTimeout * 1.5);
        const late = await app(hosts);
        expect(await late.locks.tryAcquire(held)).not.toBeNull();
      },
    );

    /** A semaphore whose last permit, behind 40 others, has a `leaseTime` of 2 s and belongs to a process of its own. */
    const fullSemaphore = async () => {
      const { hosts } = members();
      const others = await app(hosts);
      const held = key();
      const limit = 41;
      const handles: LockHandle[] = [];
      for (let count = 1; count < limit; count++) handles.push(await others.locks.acquire(held, { limit }));
      const holder = await worker(hosts);
      await holder.do('acquire', { key: held, options: { limit, leaseTime: 2_000 } });
      return { hosts, held, limit, handles, holder };
    };

    it.each([true, false])(
      'frees its permit after its leaseTime, however many earlier holders there are (the next caller waits: %p)',
      async (isPatient) => {
        const { hosts, held, limit, handles, holder } = await fullSemaphore();
        const caller = await app(hosts);
        const start = performance.now();
        const waiting = isPatient ? caller.locks.acquire(held, { limit, waitTime: 60_000 }) : undefined;
        if (isPatient) await queuedIn(caller, held);
        await holder.kill();
        const tries = { deadline: 60_000, every: 100 };
        const permit =
          waiting === undefined
            ? await until('a permit', () => caller.locks.tryAcquire(held, { limit }), tries)
            : await within(60_000, 'a permit', waiting);
        expect(performance.now() - start).toBeLessThan(2_000 * 1.01 + BUSY);
        for (const handle of [permit, ...handles]) expect(await handle.release()).toBe('released');
      },
    );

    it('F21: frees its permit although its own callers wait first, however many earlier holders there are', async () => {
      const { hosts, held, limit, handles, holder } = await fullSemaphore();
      const dead = 5;
      for (let count = 0; count < dead; count++) {
        holder.do('acquire', { key: held, options: { limit, waitTime: 60_000 } }).catch(() => undefined);
      }
      const waiter = await app(hosts);
      const areQueued = async (): Promise<boolean> => (await waiter.admin.inspect(held))?.waiting === dead;
      await until('its callers wait', areQueued);
      const waiting = waiter.locks.acquire(held, { limit, waitTime: 60_000 });
      await queuedIn(waiter, held);
      await holder.kill();
      const start = performance.now();
      const permit = await within(60_000, 'a permit', waiting);
      const took = performance.now() - start;
      // For the log of measurements.
      process.stdout.write(
        `free ${took.toFixed(0)} ms after the crash, behind ${String(dead)} dead waiters\n`,
      );
      // Each dead waiter has a claim lease of 2 s at its turn, and waiters read the queue about as often.
      expect(took).toBeLessThan(2_000 + dead * 4_000 + BUSY);
      for (const handle of [permit, ...handles]) expect(await handle.release()).toBe('released');
    });

    it('does not delay a writer for longer than its leaseTime, however many processes read', async () => {
      const { hosts } = members();
      const held = key();
      const reading: LockOptions = { mode: 'shared' };
      const handles: LockHandle[] = [];
      for (let count = 0; count < 33; count++) {
        handles.push(await (await app(hosts)).locks.acquire(held, reading));
      }
      const holder = await worker(hosts);
      await holder.do('acquire', { key: held, options: { mode: 'shared', leaseTime: 2_000 } });
      const writer = await app(hosts);
      const start = performance.now();
      const waiting = writer.locks.acquire(held, { waitTime: 60_000 });
      await queuedIn(writer, held);
      await holder.kill();
      // By now the lease of the dead reader has expired, although the writer still waits for the others.
      await elapse(2_500);
      for (const handle of handles) await handle.release();
      const all = await within(60_000, 'the lock', waiting);
      expect(performance.now() - start).toBeLessThan(2_500 + BUSY);
      await all.release();
    });

    it('keeps a lease that is longer than its session only while it stays connected', async () => {
      const { hosts, members: servers } = members();
      const proxy = endings.until(await TcpProxy.before(servers[0]?.port ?? 0));
      const [holder, other] = [await app([`127.0.0.1:${String(proxy.port)}`], 1_000), await app(hosts)];
      const [fixed, extended] = [key(), key()];
      const handle = await holder.locks.acquire(fixed, { leaseTime: 60_000 });
      const short = await holder.locks.acquire(extended, { leaseTime: 500 });
      await short.extend(5_000);
      expect(handle.remaining).toBeLessThan(1_300);
      const waiting = other.locks.acquire(extended, { waitTime: 30_000 });
      await elapse(4_000);
      expect(handle.isHeld && short.isHeld).toBe(true);
      const second = await within(5_000, 'the lock', waiting);
      expect(short.isHeld).toBe(false);
      await second.release();

      const lost = next(holder.locks.events, (event) => event.type === 'lost' && event.key === fixed);
      await proxy.refuse();
      const cutAt = performance.now();
      proxy.cut();
      const third = await within(10_000, 'the lock', other.locks.acquire(fixed, { waitTime: 30_000 }));
      expect(handle.isHeld).toBe(false);
      expect(performance.now() - cutAt).toBeLessThan(1_500 + BUSY);
      expect(await lost).toMatchObject({ reason: 'unreachable' });
      await third.release();
    });
  });
});
