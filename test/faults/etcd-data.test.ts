import { describe, expect, it } from '@jest/globals';
import type { LockApp } from '../support/lock-app.js';
import { queuedIn } from '../support/lock-app.js';
import { stopwatch } from '../support/stopwatch.js';
import { next, rejectionOf, until, within } from '../support/until.js';
import { methods } from '../../lib/stores/etcd/connection/protocol.js';
import { PortClient } from '../contract/port-client.js';
import { whereThereIsEtcd } from '../support/where-there-is-etcd.js';
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
    const watchdogTimeout = 2_000;

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

    describe.each([false, true])('with a cut connection: %p', (isCut) => {
      it.each(DELETIONS)('F52: %s', async (_, start, end, goWithIt) => {
        const proxy = await scene.proxy();
        const holder = await scene.app({ port: proxy.port, watchdogTimeout });
        const [waiter, other] = [await scene.app({ watchdogTimeout }), await scene.app({ watchdogTimeout })];
        const [held, free] = [scene.key(), scene.key()];
        const first = await other.locks.acquire(free);
        await first.release();
        const handle = await holder.locks.acquire(held);
        const waiting = waiter.locks.acquire(held, { waitTime: 30_000 });
        await queuedIn(waiter, held);
        const lost = goWithIt ? next(holder.locks.events, ({ type }) => type === 'lost') : undefined;
        if (isCut) {
          await proxy.refuse();
          proxy.cut();
        }
        await remove(start, end);
        if (isCut) await proxy.accept();
        const before = performance.now();
        const tokens: number[] = [];
        for (const app of [other, waiter]) {
          const again = await app.locks.acquire(free, { waitTime: 5_000 });
          tokens.push(again.token);
          await again.release();
        }
        expect(performance.now() - before).toBeLessThan(1_000);
        expect([first.token, ...tokens]).toEqual([first.token, ...tokens].sort((one, two) => one - two));
        await lost;
        // P33: a release whose reply is lost with the connection stays in doubt until it is carried out again.
        const outcomes = isCut ? ['released', 'unknown'] : ['released'];
        if (!goWithIt) expect(outcomes).toContain(await handle.release());
        const second = await within(10_000, 'the lock', waiting);
        expect(second.token).toBeGreaterThan(handle.token);
        await second.release();
        await scene.nothingLeft();
      });
    });

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
      const [one, two]: LockApp[] = [await scene.app(), await scene.app()];
      if (one === undefined || two === undefined) throw new Error('two applications are needed');
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
