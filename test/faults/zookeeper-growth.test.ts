import { describe, expect, it } from '@jest/globals';
import { NodesOfLocks } from '../support/nodes-of-locks.js';
import { until } from '../support/until.js';
import { whereThereIsZooKeeper } from '../support/where-there-is.js';
import { ZooKeeperScene } from './scenes/zookeeper-scene.js';

const LOCKS = '/distributed-locks/locks';
const KEYS = 3_000;

whereThereIsZooKeeper('ZooKeeper with keys that are used once', () => {
  describe('ZooKeeper with keys that are used once', () => {
    const scene = new ZooKeeperScene();

    it('F54: the nodes of locks are deleted soon after their use, also when processes end', async () => {
      const nodes = await NodesOfLocks.open(scene.server.port);
      const [staying, leaving] = [await scene.app(), await scene.app()];
      const held = await staying.locks.acquire('held', { waitTime: 2_000 });
      const use = async (index: number): Promise<void> => {
        const app = index % 2 === 0 ? staying : leaving;
        await app.locks.withLock(scene.key(), { waitTime: 10_000 }, () => undefined);
      };
      for (let done = 0; done < KEYS; done += 100) {
        await Promise.all(Array.from({ length: 100 }, (_, index) => use(index)));
      }
      await staying.locks.withLock([scene.key(), scene.key(), 'two-of-three'], () => undefined);
      await leaving.close();
      // The servers alone would check once a minute, and delete at most 167 a second.
      await until('only held locks are left', async () => {
        const names = await nodes.namesIn(LOCKS);
        return names.length === 1 && names[0] === 'held';
      });
      expect(await held.release()).toBe('released');
      await until('nothing is left', async () => (await nodes.namesIn(LOCKS)).length === 0);
      await nodes.close();
    });

    it('a hold costs two transactions, also where another process has deleted the node of the lock', async () => {
      const nodes = await NodesOfLocks.open(scene.server.port);
      const [one, other] = [await scene.app(), await scene.app()];
      const key = scene.key();
      const deleted = (name: string): Promise<unknown> =>
        until('its node is deleted', async () => !(await nodes.namesIn(LOCKS)).includes(name));
      for (const app of [one, other]) await app.locks.withLock(key, () => undefined);
      for (const app of [one, other]) {
        // Its process looks at this node after that of `key`.
        const later = scene.key();
        await app.locks.withLock(later, () => undefined);
        await deleted(later);
      }
      for (const app of [one, other]) {
        const before = await scene.server.zxid();
        expect(await (await app.locks.acquire(key)).release()).toBe('released');
        expect((await scene.server.zxid()) - before).toBe(2);
        await deleted(key);
      }
      await nodes.close();
    });

    it('F54: a lock that other processes use meanwhile keeps its node, and one whose node was deleted gets a new one', async () => {
      const nodes = await NodesOfLocks.open(scene.server.port);
      const [one, other] = [await scene.app(), await scene.app()];
      const key = scene.key();
      let last = 0;
      for (let turn = 0; turn < 6; turn++) {
        for (const app of [one, other]) {
          last = await app.locks.withLock(key, ({ token }) => {
            expect(token).toBeGreaterThan(last);
            return token;
          });
        }
        if (turn % 2 === 0)
          await until('its node is deleted', async () => !(await nodes.namesIn(LOCKS)).includes(key));
      }
      await nodes.close();
    });
  });
});
