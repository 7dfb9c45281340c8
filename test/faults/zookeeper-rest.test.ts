import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { LockStoreSession, MonotonicMs, OwnerId } from '../../lib/stores/port/index.js';
import { zookeeperStore } from '../../lib/stores/zookeeper/index.js';
import { Endings } from '../support/endings.js';
import { LockApp } from '../support/lock-app.js';
import { elapse } from '../support/until.js';
import { whereThereIsZooKeeper } from '../support/where-there-is.js';
import { ZooKeeperServer } from '../support/zookeeper-server.js';

whereThereIsZooKeeper('the cost of contention in ZooKeeper', () => {
  describe('the cost of contention in ZooKeeper', () => {
    let started: ZooKeeperServer | undefined;
    const endings = new Endings();
    beforeAll(async () => {
      // Otherwise the count would include the server's own deletion of containers.
      started = await ZooKeeperServer.start({ java: ['-Dznode.container.checkIntervalMs=600000'] });
    }, 120_000);
    afterAll(() => started?.close());

    const server = (): ZooKeeperServer => {
      if (started === undefined) throw new Error('the server runs only while tests run');
      return started;
    };

    it.each([undefined, 3_900])(
      'nothing is written after the last use, with a leaseTime of %p',
      async (leaseTime) => {
        const watchdogTimeout = 4_000;
        const store = zookeeperStore({ hosts: server().address });
        const apps = [];
        for (let count = 0; count < 4; count++) {
          apps.push(endings.app(await LockApp.start({ store, watchdogTimeout, shutdownTimeout: 50 })));
        }
        const key = `key-${randomUUID()}`;
        const before = await server().zxid();
        const end = performance.now() + 1_000;
        await Promise.all(
          apps.map(async ({ locks }) => {
            while (performance.now() < end) {
              await locks.withLock(key, { waitTime: 10_000, leaseTime }, () => elapse(2));
            }
          }),
        );
        // The node of a lock is deleted two seconds after its last use.
        await elapse(2_800);
        const after = await server().zxid();
        expect(after - before).toBeGreaterThan(100);
        await elapse(2 * watchdogTimeout);
        expect(await server().zxid()).toBe(after);
      },
    );

    it.each([1, 3])('waiters of a lock with limit %d read only the entries before them', async (limit) => {
      const sessions: LockStoreSession[] = [];
      const open = async (id: string): Promise<LockStoreSession> => {
        const nothing = (): void => undefined;
        const session = zookeeperStore({ hosts: server().address }).open({
          id,
          watchdogTimeout: 30_000,
          now: () => performance.now() as MonotonicMs,
          granted: nothing,
          heldByOthers: nothing,
          isWanted: () => true,
          broken: nothing,
          pollNow: nothing,
          reconnected: nothing,
          locksLocally: nothing,
          warn: nothing,
        });
        await session.start();
        sessions.push(session);
        return session;
      };
      const [first, second] = [await open(randomUUID()), await open(randomUUID())];
      const key = `key-${randomUUID()}`;
      const ask = (session: LockStoreSession, owner: string, callers = 1): PromiseLike<unknown> =>
        session.acquire({
          key,
          owner: owner as OwnerId,
          lease: 30_000,
          claimLease: 2_000,
          wait: true,
          callers,
          tokens: 1,
          contended: true,
          limit,
          permits: 1,
          label: undefined,
        });
      const waiters = 200;
      for (let count = 0; count < waiters + limit; count++) await ask(first, `first:${String(count)}`);
      await ask(second, 'second:1');
      const { driver } = second as unknown as {
        driver: { connection: { ready: { socket: Socket } } };
      };
      const read = (): number => driver.connection.ready.socket.bytesRead;
      const before = read();
      const polls = 20;
      for (let count = 0; count < polls; count++) await ask(second, 'second:1');
      process.stdout.write(`${((read() - before) / polls).toFixed(0)} bytes read for each poll\n`);
      expect((read() - before) / polls).toBeLessThan(1_000);
      // Nor when the data of the entry before changes.
      const beforeChanges = read();
      for (let count = 0; count < polls; count++) {
        await ask(first, `first:${String(waiters + limit - 1)}`, 2 + count);
        await ask(second, 'second:1');
      }
      expect((read() - beforeChanges) / polls).toBeLessThan(2_000);
      for (const session of sessions) await session.close();
    });
  });
});
