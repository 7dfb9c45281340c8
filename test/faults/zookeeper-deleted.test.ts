import { describe, expect, it } from '@jest/globals';
import type { LockStoreSession } from '../../lib/stores/port/index.js';
import { NodesOfLocks } from '../support/nodes-of-locks.js';
import { next, rejectionOf, until } from '../support/until.js';
import { whereThereIsZooKeeper } from '../support/where-there-is.js';
import { deleteUnder, deleteWhileCut, tokensGrow } from './deleted-data.js';
import { ZooKeeperScene } from './scenes/zookeeper-scene.js';

const ROOT = '/distributed-locks';
/** What an operator deletes, and whether holds are lost by that, since their nodes or the session are deleted. */
const PARTS = [
  ['everything', ROOT, true],
  ['all locks', `${ROOT}/locks`, true],
  ['the nodes of clients', `${ROOT}/clients`, true],
  ['the token base', `${ROOT}/base`, false],
  ['the fence of a client', `${ROOT}/clients/f-`, true],
  ['the mailbox of a client', `${ROOT}/clients/m-`, false],
] as const;

whereThereIsZooKeeper('ZooKeeper whose nodes are deleted', () => {
  describe('ZooKeeper whose nodes are deleted', () => {
    const scene = new ZooKeeperScene();

    /** Deletes a node with its children; a path that ends in "-" is a prefix of the nodes of all clients. */
    async function deleteAll(path: string): Promise<void> {
      const nodes = await NodesOfLocks.open(scene.server.port);
      const parent = path.slice(0, path.lastIndexOf('/'));
      const names = path.endsWith('-') ? await nodes.namesIn(parent) : [path.slice(parent.length + 1)];
      const prefix = path.slice(parent.length + 1);
      for (const name of names.filter((one) => one.startsWith(prefix))) {
        await nodes.deleteAll(`${parent}/${name}`);
      }
      await nodes.close();
    }

    async function baseIsThere(): Promise<boolean> {
      const nodes = await NodesOfLocks.open(scene.server.port);
      const names = await nodes.namesIn(ROOT);
      await nodes.close();
      return names.includes('base');
    }

    it.each(PARTS)(
      'F52: %s: holders are notified, waiters are served, and tokens grow',
      async (_, path, ends) => {
        // A holder detects the loss of a single node when it renews its lease.
        const { key, holder, idle } = await deleteUnder(scene, () => deleteAll(path), ends, 6_000);
        // Each process is notified when others affect its holds, and all use the same token base.
        await holder.locks.acquire(key);
        const broken = next(holder.locks.events, (event) => event.type === 'lost', 2_000);
        expect(await idle.admin.forceRelease(key)).toBe(true);
        await broken;
        expect(await baseIsThere()).toBe(true);
      },
    );

    it.each(PARTS)('F52: %s, while connections are cut: the same outcome', async (_, path, ends) => {
      await deleteWhileCut(scene, () => deleteAll(path), ends);
    });

    it('F52: everything, before the servers are restarted: the same outcome', async () => {
      const remove = async (): Promise<void> => {
        await deleteAll(ROOT);
        await scene.server.restart();
      };
      await deleteWhileCut(scene, remove, true);
    });

    it.each([
      ['everything', ROOT],
      ['all locks', `${ROOT}/locks`],
      ['the nodes of clients', `${ROOT}/clients`],
    ])('F52: %s, repeatedly and without notifications: the next call detects it', async (_, path) => {
      const { store } = scene.deaf();
      const app = await scene.app({ store });
      let last = 0;
      for (let time = 0; time < 3; time++) {
        await tokensGrow('again', last, [app]);
        last = await app.locks.withLock('again', ({ token }) => token);
        await deleteAll(path);
      }
      await tokensGrow('again', last, [app]);
    });

    it('F57: a session logs which nodes for its grants are missing, and restores them', async () => {
      const sessions: LockStoreSession[] = [];
      const { store } = scene.deaf((session) => sessions.push(session));
      const app = await scene.app({ store });
      const [session] = sessions;
      const verify = (): Promise<void> =>
        session?.verify?.() ?? Promise.reject(new Error('the session cannot verify'));
      await verify();
      for (const [, path] of PARTS) {
        await deleteAll(path);
        const error = await rejectionOf(verify());
        expect(error).toMatchObject({ name: 'LockStoreError', inDoubt: false });
        expect((error as Error).message).toContain(path);
        await until('its nodes are restored', () =>
          verify().then(
            () => true,
            () => false,
          ),
        );
      }
      expect(app.admin.status().store.reachable).toBe(true);
    });

    it('B16: connected processes use a token base that an operator has raised', async () => {
      const [one, other] = [await scene.app(), await scene.app()];
      const held = await one.locks.acquire('held');
      const base = (held.token + 10 ** 12) * 2;
      const nodes = await NodesOfLocks.open(scene.server.port);
      await nodes.write(`${ROOT}/base`, String(base));
      await nodes.close();
      for (const app of [one, other, one]) {
        await until('tokens are counted from there', () =>
          app.locks.withLock('key', { waitTime: 2_000 }, ({ token }) => token > base),
        );
      }
      expect(held.isHeld).toBe(true);
      expect(await held.release()).toBe('released');
    });
  });
});
