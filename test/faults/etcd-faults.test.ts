import { describe, expect, it, jest } from '@jest/globals';
import { LockLostError, LockTimeoutError, LockUnavailableError } from '../../lib/index.js';
import { MessageWriter } from '../../lib/stores/etcd/protocol/wire.js';
import { methods, type Method } from '../../lib/stores/etcd/protocol/methods.js';
import { WaitedLock } from '../../lib/stores/etcd/locks/waited-lock.js';
import { queuedIn } from '../support/lock-app.js';
import { elapse, next, rejectionOf, until, within } from '../support/until.js';
import { whereThereIsEtcd } from '../support/where-there-is-etcd.js';
import { EtcdScene } from './etcd-scene.js';

/** A request that is about this lock. */
const about =
  (key: string) =>
  (request: string): boolean =>
    request.includes(key);

whereThereIsEtcd('faults of etcd', () => {
  describe('faults of etcd', () => {
    const scene = new EtcdScene();

    it('F10: an acquire that was executed but whose reply was lost is exactly one grant', async () => {
      const proxy = await scene.proxy();
      const [app, other] = [await scene.app({ port: proxy.port }), await scene.app()];
      for (let round = 0; round < 5; round++) {
        const key = scene.key();
        const lost = proxy.loseReply(about(key));
        const handle = await within(10_000, 'the lock', app.locks.acquire(key, { waitTime: 10_000 }));
        await lost;
        const info = await other.locks.inspect(key);
        expect(info?.holders).toHaveLength(1);
        expect(info?.token).toBe(handle.token);
        expect(await handle.release()).toBe('released');
      }
      await scene.nothingLeft();
    });

    it('F10: an acquire that was executed, whose reply was lost and that was given up is cancelled', async () => {
      const proxy = await scene.proxy();
      const [app, other] = [await scene.app({ port: proxy.port }), await scene.app()];
      const key = scene.key();
      const lost = proxy.loseReply(about(key));
      const failing = rejectionOf(app.locks.acquire(key, { waitTime: 500 }));
      await lost;
      await proxy.refuse();
      proxy.cut();
      expect(await failing).toBeInstanceOf(LockUnavailableError);
      await proxy.accept();
      // The ghost's lease would be 30 s.
      await (await other.locks.acquire(key, { waitTime: 15_000 })).release();
      await scene.nothingLeft();
    });

    it('F10: a queueing request whose reply was lost keeps one place', async () => {
      const proxy = await scene.proxy();
      const [app, holder] = [await scene.app({ port: proxy.port }), await scene.app()];
      const key = scene.key();
      const handle = await holder.locks.acquire(key);
      const lost = proxy.loseReply((request) => request.includes(key) && request.includes('"waiting"'));
      const waiting = app.locks.acquire(key, { waitTime: 30_000 });
      await lost;
      await until('it waits', async () => (await holder.locks.inspect(key))?.waiting === 1);
      await handle.release();
      await (await within(10_000, 'the lock', waiting)).release();
      await scene.nothingLeft();
    });

    it('F11, P31: an acquire that was never delivered and given up is never carried out', async () => {
      const proxy = await scene.proxy();
      const app = await scene.app({ port: proxy.port });
      const key = scene.key();
      await proxy.refuse();
      proxy.cut();
      expect(await rejectionOf(app.locks.acquire(key, { waitTime: 200 }))).toBeInstanceOf(
        LockUnavailableError,
      );
      let asked = 0;
      // What takes it back may come; what asks for it may not.
      void proxy.request((request) => {
        if (new RegExp(`/l/${key}/x/[\\w@./:-]+\\x12[^]{1,2}\\{"state"`).test(request)) asked += 1;
        return false;
      });
      await proxy.accept();
      await app.locks.withLock(scene.key(), { waitTime: 15_000 }, () => undefined);
      expect(await app.locks.isLocked(key)).toBe(false);
      expect(asked).toBe(0);
      await scene.nothingLeft();
    });

    it('F11, P32: a request that the network delivers late does not leave a lock behind', async () => {
      const proxy = await scene.proxy();
      const [app, other] = [await scene.app({ port: proxy.port }), await scene.app()];
      const key = scene.key();
      const letGo = proxy.hold('requests');
      expect(await rejectionOf(app.locks.acquire(key, { waitTime: 200 }))).toBeInstanceOf(
        LockUnavailableError,
      );
      letGo();
      await (await other.locks.acquire(key, { waitTime: 15_000 })).release();
      await scene.nothingLeft();
    });

    it('F12: when the reply of a release is lost the next waiter does not wait for the lease', async () => {
      const proxy = await scene.proxy();
      const [app, waiter] = [await scene.app({ port: proxy.port }), await scene.app()];
      const key = scene.key();
      const handle = await app.locks.acquire(key);
      const waiting = waiter.locks.acquire(key, { waitTime: 15_000 });
      await queuedIn(waiter, key);
      const lost = proxy.loseReply(about(key));
      const releasing = handle.release();
      await lost;
      const second = await within(10_000, 'the next holder', waiting);
      expect(['released', 'expired', 'unknown']).toContain(await releasing);
      expect(handle.isHeld).toBe(false);
      expect(second.isHeld).toBe(true);
      expect(await second.release()).toBe('released');
      await scene.nothingLeft();
    });

    it('F13: a hold outlives a cut connection, and is verified when it is back', async () => {
      const proxy = await scene.proxy();
      const app = await scene.app({ port: proxy.port });
      const handle = await app.locks.acquire(scene.key());
      const renewed = next(app.locks.events, (event) => event.type === 'renewed');
      expect(proxy.cut()).toBeGreaterThan(0);
      await renewed;
      expect(handle.isHeld).toBe(true);
      expect(await handle.release()).toBe('released');
      await scene.nothingLeft();
    });

    it('F13: a hold that cannot be renewed until its deadline is lost then, by the local clock', async () => {
      const proxy = await scene.proxy();
      const app = await scene.app({ port: proxy.port, watchdogTimeout: 900 });
      const handle = await app.locks.acquire(scene.key());
      const lost = next(app.locks.events, (event) => event.type === 'lost');
      await proxy.refuse();
      proxy.cut();
      await lost;
      expect(handle.isHeld).toBe(false);
      expect(handle.signal.reason).toBeInstanceOf(LockLostError);
      await proxy.accept();
      await scene.nothingLeft();
    });

    it('F14: a waiter whose connection is cut while the lock is released gets it within a poll', async () => {
      const proxy = await scene.proxy();
      const [app, holder] = [await scene.app({ port: proxy.port }), await scene.app()];
      const key = scene.key();
      const handle = await holder.locks.acquire(key);
      const waiting = app.locks.acquire(key, { waitTime: 15_000 });
      await until('it waits', async () => (await holder.locks.inspect(key))?.waiting === 1);
      const letGo = proxy.hold('replies');
      await handle.release();
      proxy.cut();
      letGo();
      await (await within(10_000, 'the lock', waiting)).release();
      await scene.nothingLeft();
    });

    it('F14: a connection that is half open costs a waiter a poll and a time limit, and is then cut', async () => {
      const proxy = await scene.proxy();
      const [app, holder] = [await scene.app({ port: proxy.port }), await scene.app()];
      const key = scene.key();
      const handle = await holder.locks.acquire(key);
      const waiting = app.locks.acquire(key, { waitTime: 15_000 });
      await until('it waits', async () => (await holder.locks.inspect(key))?.waiting === 1);
      const open = proxy.connectionsAccepted;
      for (const connection of proxy.connections) connection.swallow('replies');
      await handle.release();
      await (await within(10_000, 'the lock', waiting)).release();
      expect(proxy.connectionsAccepted).toBeGreaterThan(open);
      await scene.nothingLeft();
    });

    it('P14: events that etcd leaves out cost a waiter one poll', async () => {
      const [app, holder] = [await scene.app(), await scene.app()];
      const key = scene.key();
      const handle = await holder.locks.acquire(key);
      const watched = jest.spyOn(WaitedLock.prototype, 'watched');
      const heard = jest.spyOn(WaitedLock.prototype, 'changed').mockImplementation(() => undefined);
      try {
        const waiting = app.locks.acquire(key, { waitTime: 15_000 });
        await queuedIn(app, key);
        await until('it is watched', () => watched.mock.calls.length > 0);
        // What it looks at because of that is over when somebody else has been told what is there.
        await app.locks.inspect(key);
        await handle.release();
        await (await within(10_000, 'the lock', waiting)).release();
        expect(heard).toHaveBeenCalled();
      } finally {
        jest.restoreAllMocks();
      }
      await scene.nothingLeft();
    });

    it('F14: etcd compacts its history while locks are waited for', async () => {
      const [app, holder] = [await scene.app(), await scene.app()];
      const client = await scene.client();
      for (let round = 0; round < 10; round++) {
        const key = scene.key();
        const handle = await holder.locks.acquire(key);
        const waiting = app.locks.acquire(key, { waitTime: 15_000 });
        await queuedIn(app, key);
        const { revision } = await client.call(methods.range, { do: 'range', key: 'x', serializable: false });
        const compact: Method<number, undefined> = {
          path: '/etcdserverpb.KV/Compact',
          encode: (at) => new MessageWriter().int(1, at).finish(),
          decode: () => undefined,
        };
        await client.call(compact, revision);
        await handle.release();
        await (await within(10_000, 'the lock', waiting)).release();
      }
      await scene.nothingLeft();
    });

    it('F14, P14: etcd’s own leases are gone: holders are told, and waiters ask anew', async () => {
      const [app, other] = [await scene.app(), await scene.app()];
      const key = scene.key();
      const handle = await app.locks.acquire(key);
      const waiting = other.locks.acquire(key, { waitTime: 15_000 });
      await queuedIn(other, key);
      const lost = next(app.locks.events, (event) => event.type === 'lost', 60_000);
      const client = await scene.client();
      for (const { lease } of await scene.entries())
        await client.call(methods.leaseRevoke, lease).catch(() => undefined);
      const second = await within(10_000, 'the lock', waiting);
      expect(second.token).toBeGreaterThan(handle.token);
      // Keepalives tell: at the latest after a third of the lease in etcd.
      await handle.extend(60_000).catch(() => undefined);
      expect(await lost).toMatchObject({ key });
      await second.release();
      await scene.nothingLeft();
    });

    it('F16, B6: an application starts without etcd, and locks work as soon as it is there', async () => {
      const proxy = await scene.proxy();
      await proxy.refuse();
      const app = await scene.app({ port: proxy.port });
      expect(app.log.matching('etcd')).not.toEqual([]);
      expect(await rejectionOf(app.locks.acquire(scene.key(), { waitTime: 100 }))).toBeInstanceOf(
        LockUnavailableError,
      );
      await proxy.accept();
      await app.locks.withLock(scene.key(), { waitTime: 15_000 }, () => undefined);
      await scene.nothingLeft();
    });

    it('F2, B11: while the server is stopped a free lock is unavailable, and no ghost is left when it goes on', async () => {
      const [app, other] = [await scene.app(), await scene.app()];
      const key = scene.key();
      await scene.server.stop();
      try {
        expect(await rejectionOf(app.locks.acquire(key, { waitTime: 300 }))).toBeInstanceOf(
          LockUnavailableError,
        );
      } finally {
        scene.server.resume();
      }
      await (await other.locks.acquire(key, { waitTime: 15_000 })).release();
      await scene.nothingLeft();
    });

    it('F1: a server that was killed and restarted has kept the lock, and its holder goes on', async () => {
      const [app, other] = [await scene.app(), await scene.app()];
      const key = scene.key();
      const handle = await app.locks.acquire(key);
      const renewed = next(app.locks.events, (event) => event.type === 'renewed', 30_000);
      await scene.server.restart();
      await renewed;
      expect(handle.isHeld).toBe(true);
      const refused = await rejectionOf(
        until('it is asked', async () => {
          await other.locks.acquire(key, { waitTime: 0 }).catch((error: unknown) => {
            if (!(error instanceof LockUnavailableError)) throw error;
          });
          return false;
        }),
      );
      expect(refused).toBeInstanceOf(LockTimeoutError);
      const before = handle.token;
      expect(await handle.release()).toBe('released');
      const later = await other.locks.acquire(key, { waitTime: 15_000 });
      expect(later.token).toBeGreaterThan(before);
      await later.release();
      await scene.nothingLeft();
    });

    it('F1: callers that wait while the server is restarted are served afterwards, one at a time', async () => {
      const apps = await Promise.all(Array.from({ length: 3 }, () => scene.app()));
      const key = scene.key();
      let inside = 0;
      let most = 0;
      const calls = apps.flatMap(({ locks }) =>
        Array.from({ length: 10 }, () =>
          locks.withLock(key, { waitTime: 60_000 }, async () => {
            most = Math.max(most, (inside += 1));
            await elapse(5);
            inside -= 1;
          }),
        ),
      );
      await until('they are at it', () => most > 0);
      await scene.server.restart();
      await Promise.all(calls);
      expect(most).toBe(1);
      await scene.nothingLeft();
    });

    it('F7: keys that somebody deletes: the holder is told at its next renewal, and the next token is larger', async () => {
      const app = await scene.app({ watchdogTimeout: 600 });
      const key = scene.key();
      const handle = await app.locks.acquire(key);
      const lost = next(app.locks.events, (event) => event.type === 'lost');
      await scene.deleteAll();
      expect(await lost).toMatchObject({ key });
      const later = await app.locks.acquire(key);
      expect(later.token).toBeGreaterThan(handle.token);
      await later.release();
      await scene.nothingLeft();
    });

    it('F1, B16: a server that comes back without its data: the holder is told, and tokens grow', async () => {
      const app = await scene.app();
      const key = scene.key();
      const handle = await app.locks.acquire(key);
      const lost = next(app.locks.events, (event) => event.type === 'lost', 30_000);
      await scene.server.restartEmpty();
      expect(await lost).toMatchObject({ key });
      for (const one of [app, await scene.app()]) {
        const later = await one.locks.acquire(key, { waitTime: 15_000 });
        expect(later.token).toBeGreaterThan(handle.token);
        await later.release();
      }
      await scene.nothingLeft();
    });

    it('B65: with onUnavailable local, locks are taken in the process while etcd is away', async () => {
      const proxy = await scene.proxy();
      const app = await scene.app({ port: proxy.port, onUnavailable: 'local' });
      await proxy.refuse();
      proxy.cut();
      const degraded = await app.locks.acquire(scene.key(), { waitTime: 10_000 });
      expect(degraded.degraded).toBe(true);
      await degraded.release();
      const back = next(app.locks.events, (event) => event.type === 'degraded' && !event.local, 15_000);
      await proxy.accept();
      await back;
      const handle = await app.locks.acquire(scene.key());
      expect(handle.degraded).toBe(false);
      await handle.release();
      await scene.nothingLeft();
    });
  });
});
