import { describe, expect, it } from '@jest/globals';
import { queuedIn } from '../support/lock-app.js';
import { stopwatch } from '../support/stopwatch.js';
import { rejectionOf, until } from '../support/until.js';
import { methods } from '../../lib/stores/etcd/connection/protocol.js';
import { PortClient } from '../contract/port-client.js';
import { whereThereIsEtcd } from '../support/where-there-is.js';
import { deleteUnder, deleteWhileCut } from './deleted-data.js';
import { EtcdScene } from './scenes/etcd-scene.js';

/** What an operator deletes, and whether the locks are lost by that. */
const DELETIONS = [
  ['everything', '', '\u{10ffff}', true],
  ['the token base', 'base', 'base\0', false],
  ['the locks', 'l/', 'l0', true],
  ['the mailboxes', 'm/', 'm0', false],
  ['the tombstones', 't/', 't0', false],
] as const;

whereThereIsEtcd('deleted data of etcd', () => {
  describe('deleted data of etcd', () => {
    const scene = new EtcdScene();

    const remove = async (start: string, end: string): Promise<void> => {
      const client = await scene.client();
      const all = { do: 'delete', key: `distributed-lock/${start}`, end: `distributed-lock/${end}` } as const;
      await client.call(methods.transaction, { do: 'txn', if: [], then: [all], else: [] });
      client.cut(new Error('done'));
    };
    const revision = async (): Promise<number> => {
      const client = await scene.client();
      const answer = await client.call(methods.range, { do: 'range', key: 'x' });
      client.cut(new Error('done'));
      return answer.revision;
    };

    it.each(DELETIONS)(
      'F52: %s: holders are notified, waiters are served, and tokens grow',
      async (_, start, end, ends) => {
        await deleteUnder(scene, () => remove(start, end), ends);
      },
    );

    it.each(DELETIONS)(
      'F52: %s, while connections are cut: the same outcome',
      async (_, start, end, ends) => {
        await deleteWhileCut(scene, () => remove(start, end), ends);
      },
    );

    it('F52: acquiring again costs few proposals and reports no other callers', async () => {
      const app = await scene.app();
      await (await app.locks.acquire(scene.key())).release();
      await remove('', '\u{10ffff}');
      const [key, before] = [scene.key(), await revision()];
      const handle = await app.locks.tryAcquire(key);
      expect(handle).not.toBeNull();
      // The base, the fence and the lock.
      expect(await revision()).toBe(before + 3);
      await handle?.release();
    });

    it('F52: verification reports that the base is missing, and the base is restored', async () => {
      const port = await PortClient.open(scene.storeAt(scene.server.port));
      scene.endings.app(port);
      await port.verify();
      const before = await revision();
      await port.verify();
      expect(await revision()).toBe(before);
      await remove('base', 'base\0');
      expect(String(await rejectionOf(port.verify()))).toContain('"distributed-lock/base"');
      await until('the base is restored', async () =>
        port.verify().then(
          () => true,
          () => false,
        ),
      );
    });

    it('F52: a waiter that is served at once, and a holder that reserves tokens, restore the base', async () => {
      const port = await PortClient.open(scene.storeAt(scene.server.port));
      scene.endings.app(port);
      const isThere = async (): Promise<boolean> => {
        const client = await scene.client();
        const { reply } = await client.call(methods.range, { do: 'range', key: 'distributed-lock/base' });
        client.cut(new Error('done'));
        return reply.entries.length === 1;
      };
      const [one, two] = [await scene.app(), await scene.app()];
      const key = scene.key();
      const handle = await one.locks.acquire(key);
      const waiting = two.locks.acquire(key, { waitTime: 30_000 });
      await queuedIn(two, key);
      await remove('base', 'base\0');
      const took = stopwatch();
      await handle.release();
      const second = await waiting;
      // Not by a poll, which comes once a second.
      expect(took()).toBeLessThan(700);
      expect(second.token).toBeGreaterThan(handle.token);
      expect(await isThere()).toBe(true);
      await second.release();
      const owner = port.newOwner();
      const token = await port.take(key, owner);
      expect(token).toBeGreaterThan(second.token);
      await remove('base', 'base\0');
      const reserved = await port.reserve({ key, owner, lease: 20_000, tokens: 1 });
      expect(reserved.outcome === 'reserved' && reserved.token).toBeGreaterThan(token);
      expect(await isThere()).toBe(true);
      await port.release(key, owner);
    });

    it('F52, B16: a waiter that is served after another process created the base gets a larger token', async () => {
      const [one, two] = [await scene.app(), await scene.app()];
      const key = scene.key();
      const handle = await one.locks.acquire(key);
      const waiting = two.locks.acquire(key, { waitTime: 30_000 });
      await queuedIn(two, key);
      await remove('base', 'base\0');
      const other = await one.locks.acquire(scene.key());
      await handle.release();
      const second = await waiting;
      expect(second.token).toBeGreaterThan(other.token);
      await Promise.all([second.release(), other.release()]);
    });
  });
});
