import { describe, expect, it } from '@jest/globals';
import type { LockStore } from '../../lib/stores/port/index.js';
import type { EtcdConnection } from '../../lib/stores/etcd/connection/etcd-connection.js';
import { methods } from '../../lib/stores/etcd/connection/protocol.js';
import { stateOf, until, within } from '../support/until.js';
import { whereThereIsEtcd } from '../support/where-there-is.js';
import { queuedIn } from '../support/lock-app.js';
import { EtcdScene } from './scenes/etcd-scene.js';

const CROWD = 100;

whereThereIsEtcd('batches in etcd', () => {
  describe('batches in etcd', () => {
    const scene = new EtcdScene();

    /** The number of changes so far. */
    async function revision(): Promise<number> {
      const client = await scene.client();
      const nothing = { do: 'range', key: 'nothing', serializable: false } as const;
      const answer = await client.call(methods.range, nothing);
      client.cut(new Error('asked'));
      return answer.revision;
    }

    it('many readers at once have tokens of their own, and few transactions release them', async () => {
      const app = await scene.app();
      const key = scene.key();
      const writer = await app.locks.withLock(key, ({ token }) => token);
      const readers = await Promise.all(
        Array.from({ length: CROWD }, () => app.locks.acquire(key, { mode: 'shared', waitTime: 0 })),
      );
      const begun = await revision();
      const tokens = readers.map(({ token }) => token).sort((one, other) => one - other);
      expect(new Set(tokens).size).toBe(CROWD);
      expect(tokens[0]).toBeGreaterThan(writer);
      expect((await app.admin.inspect(key))?.holders).toHaveLength(CROWD);
      await Promise.all(readers.map((reader) => reader.release()));
      expect((await revision()) - begun).toBeLessThan(CROWD / 10);
      const last = await app.locks.withLock(key, ({ token }) => token);
      expect(last).toBeGreaterThan(tokens.at(-1) ?? Infinity);
      await scene.nothingLeft();
    });

    it('P20, P21: a release and the queue request before it are one transaction', async () => {
      const proxy = await scene.proxy();
      const [holder, waiter] = [await scene.app(), await scene.app({ port: proxy.port })];
      const key = scene.key();
      const handle = await holder.locks.acquire(key);
      const waiting = waiter.locks.acquire(key, { waitTime: 60_000 });
      await queuedIn(waiter, key);
      // The waiter receives no notifications, and so changes nothing.
      const deliver = proxy.hold('replies');
      const before = await revision();
      // A caller with its own leaseTime reuses neither the lease of the first nor its tokens.
      const next = holder.locks.acquire(key, { leaseTime: 60_000, waitTime: 60_000 });
      expect(await handle.release()).toBe('released');
      await queuedIn(holder, key);
      expect((await revision()) - before).toBe(1);
      deliver();
      await (await waiting).release();
      await (await next).release();
      await scene.nothingLeft();
    });

    it('P22: a release without a reply from etcd delays only callers of its own key', async () => {
      const [stuck, free] = [`stuck-${scene.key()}`, scene.key()];
      const real = scene.storeAt(scene.server.port);
      let held = 0;
      let deliver = (): void => undefined;
      const answered = new Promise<void>((resolve) => (deliver = resolve));
      const open: LockStore['open'] = (client) => {
        const session = real.open(client);
        const { connection } = (session as unknown as { driver: { connection: EtcdConnection } }).driver;
        const call = connection.call.bind(connection);
        connection.call = async (method, request) => {
          const reply = await call(method, request);
          const words = JSON.stringify(request);
          if (!words.includes(stuck) || !words.includes('"delete"')) return reply;
          held += 1;
          await answered;
          return reply;
        };
        return session;
      };
      const app = await scene.app({ store: { name: real.name, open } });
      const works: Promise<unknown>[] = [];
      for (const key of [stuck, [scene.key(), `${stuck}-too`]]) {
        works.push(app.locks.withLock(key, () => undefined));
        await until('its release is under way', () => held >= works.length);
      }
      expect(
        await within(
          900,
          'another key',
          app.locks.withLock(free, () => 'value'),
        ),
      ).toBe('value');
      expect(
        await within(
          900,
          'others',
          app.locks.withLock([free, scene.key()], () => 'value'),
        ),
      ).toBe('value');
      for (const work of works) expect(await stateOf(work)).toBe('pending');
      deliver();
      await Promise.all(works);
      await scene.nothingLeft();
    });

    it('P21: a queue position requested together with the previous release is granted at once, wherever its watch begins', async () => {
      const app = await scene.app();
      const took: number[] = [];
      for (let round = 0; round < 100; round++) {
        const key = scene.key();
        const handle = await app.locks.acquire(key);
        const next = app.locks.acquire(key, { leaseTime: 60_000, waitTime: 60_000 });
        const start = performance.now();
        void handle.release();
        const second = await next;
        took.push(performance.now() - start);
        await second.release();
      }
      expect(Math.max(...took)).toBeLessThan(900);
      await scene.nothingLeft();
    });

    it('a release waits only briefly for the next queue position of its process', async () => {
      const proxy = await scene.proxy();
      const [holder, waiter] = [await scene.app({ port: proxy.port }), await scene.app()];
      const key = scene.key();
      const handle = await holder.locks.acquire(key);
      const waiting = waiter.locks.acquire(key, { waitTime: 60_000 });
      await queuedIn(waiter, key);
      const attempts = proxy.connectionsAccepted;
      const asked = proxy.request((text) => text.includes(key));
      const deliver = proxy.hold('replies');
      const next = holder.locks.acquire(key, { fair: true, waitTime: 60_000 });
      await asked;
      const released = handle.release();
      const second = await within(60_000, 'the lock', waiting);
      // A process that waits too long for a reply opens another connection.
      expect(proxy.connectionsAccepted).toBe(attempts);
      expect(proxy.connections.length).toBeGreaterThan(0);
      deliver();
      expect(await released).toBe('released');
      await second.release();
      await (await next).release();
      await until('nothing is left', async () => (await scene.leftovers()).length === 0);
    });
  });
});
