import { describe, expect, it } from '@jest/globals';
import { LockLostError, LockTimeoutError, LockUnavailableError } from '../../lib/index.js';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { elapse, next, rejectionOf, until, within } from '../support/until.js';
import { whereThereIsPostgres } from '../support/where-there-is-postgres.js';
import { PostgresScene } from './postgres-scene.js';

/** A statement that is about this lock. */
const about =
  (key: string) =>
  (request: string): boolean =>
    request.includes(key);

/** Resolves when the application hears of grants: it has waited for a lock and got it. */
async function hasListened(app: LockApp, other: LockApp, key: string): Promise<void> {
  const held = await other.locks.acquire(key);
  const waiting = app.locks.acquire(key);
  await queuedIn(app, key);
  await held.release();
  await (await waiting).release();
}

whereThereIsPostgres('faults of PostgreSQL', () => {
  describe('faults of PostgreSQL', () => {
    const scene = new PostgresScene();

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
      const lost = proxy.loseReply((request) => request.includes(key) && request.includes('"wait":true'));
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
        if (request.includes(`"do":"ask","key":"${key}"`)) asked += 1;
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

    it('F14: a waiter whose connection for messages is cut while the lock is released gets it within a poll', async () => {
      const proxy = await scene.proxy();
      const [app, holder] = [await scene.app({ port: proxy.port }), await scene.app()];
      await hasListened(app, holder, scene.key());
      const key = scene.key();
      const handle = await holder.locks.acquire(key);
      const waiting = app.locks.acquire(key, { waitTime: 15_000 });
      await until('it waits', async () => (await holder.locks.inspect(key))?.waiting === 1);
      const lost = proxy.losePush((reply) => reply.includes(`granted`));
      await handle.release();
      await lost;
      await (await within(10_000, 'the lock', waiting)).release();
      await scene.nothingLeft();
    });

    it('F14: a connection for messages that is half open costs one poll, and is then cut', async () => {
      const proxy = await scene.proxy();
      const [app, holder] = [await scene.app({ port: proxy.port }), await scene.app()];
      await hasListened(app, holder, scene.key());
      const [mute, ...others] = proxy.connections.filter(({ subscribes }) => subscribes);
      expect(others).toEqual([]);
      mute?.swallow('replies');
      const key = scene.key();
      const handle = await holder.locks.acquire(key);
      const waiting = app.locks.acquire(key, { waitTime: 15_000 });
      await until('it waits', async () => (await holder.locks.inspect(key))?.waiting === 1);
      const open = proxy.connectionsAccepted;
      await handle.release();
      await (await within(10_000, 'the lock', waiting)).release();
      await until('another one is opened', () => proxy.connectionsAccepted > open);
      await scene.nothingLeft();
    });

    it('F16, B6: an application starts without PostgreSQL, and locks work as soon as it is there', async () => {
      const proxy = await scene.proxy();
      await proxy.refuse();
      const app = await scene.app({ port: proxy.port });
      expect(app.log.matching('PostgreSQL')).not.toEqual([]);
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
        await scene.server.resume();
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

    it('F7: rows that somebody deletes: the holder is told at its next renewal, and the next token is larger', async () => {
      const app = await scene.app({ watchdogTimeout: 600 });
      const key = scene.key();
      const handle = await app.locks.acquire(key);
      const lost = next(app.locks.events, (event) => event.type === 'lost');
      const client = await scene.client();
      await client.query('DELETE FROM distributed_lock.holds');
      await client.end();
      expect(await lost).toMatchObject({ key });
      const later = await app.locks.acquire(key);
      expect(later.token).toBeGreaterThan(handle.token);
      await later.release();
    });

    it('B16: tokens grow when the schema was lost and made anew', async () => {
      const first = await scene.app();
      const key = scene.key();
      const before = await first.locks.withLock(key, (lock) => lock.token);
      const client = await scene.client();
      await client.query('DROP SCHEMA distributed_lock CASCADE');
      await client.end();
      const second = await scene.app({ postgres: { createSchema: true } });
      const after = await second.locks.withLock(key, (lock) => lock.token);
      expect(after).toBeGreaterThan(before);
      await scene.nothingLeft();
    });

    it('B65: with onUnavailable local, locks are taken in the process while PostgreSQL is away', async () => {
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

    it('P4: what a crashed process has left behind is swept', async () => {
      const client = await scene.client();
      await client.query(
        `INSERT INTO distributed_lock.holds VALUES ('dead', 'a:1', 1, distributed_lock.clock() - 1, 1, 1, false, '');
         INSERT INTO distributed_lock.waiters VALUES ('dead', 'a:2', 1, distributed_lock.clock() - 1, 1, 1, 1, 1, '');
         INSERT INTO distributed_lock.tombstones VALUES ('a:3', distributed_lock.clock() - 1)`,
      );
      await client.query('SELECT distributed_lock.sweep()');
      const { rows } = await client.query(
        "SELECT count(*) AS n FROM distributed_lock.tombstones WHERE owner = 'a:3'",
      );
      expect(Number(rows[0]?.['n'])).toBe(0);
      await client.end();
      expect(await scene.leftovers()).toBe(0);
    });

    it('a fencing token is checked in the very transaction that writes', async () => {
      const app = await scene.app();
      const client = await scene.client();
      await client.query(
        'CREATE TABLE stock (sku text PRIMARY KEY, left_over integer, lock_token bigint DEFAULT 0)',
      );
      await client.query("INSERT INTO stock VALUES ('apple', 10)");
      const write = async (token: number): Promise<number> => {
        const { rows } = await client.query(
          "UPDATE stock SET left_over = left_over - 1, lock_token = $1 WHERE sku = 'apple' AND lock_token <= $1 RETURNING 1",
          [token],
        );
        return rows.length;
      };
      const key = scene.key();
      const stale = await app.locks.acquire(key);
      await app.locks.forceRelease(key);
      const fresh = await app.locks.acquire(key);
      expect(await write(fresh.token)).toBe(1);
      expect(await write(stale.token)).toBe(0);
      await fresh.release();
      await client.end();
    });

    it('a transaction that has found the hold there keeps it from being taken over until it has ended', async () => {
      const [app, other] = [await scene.app(), await scene.app()];
      const client = await scene.client();
      const key = scene.key();
      const held = await app.locks.acquire(key, { leaseTime: 2_000 });
      const find = async (token: number): Promise<number> => {
        const { rows } = await client.query(
          `SELECT 1 FROM distributed_lock.holds
            WHERE key = $1 AND token <= $2 AND ends > extract(epoch FROM clock_timestamp()) * 1000000 FOR UPDATE`,
          [key, token],
        );
        return rows.length;
      };
      await client.query('BEGIN');
      expect(await find(held.token)).toBe(1);
      const order: string[] = [];
      const taking = other.locks.acquire(key, { waitTime: 30_000 }).then((handle) => {
        order.push('taken over');
        return handle;
      });
      await elapse(2_300);
      order.push('committed');
      await client.query('COMMIT');
      const next = await taking;
      expect(order).toEqual(['committed', 'taken over']);
      expect(await find(held.token)).toBe(0);
      expect(await find(next.token)).toBe(1);
      await next.release();
      await client.end();
    });
  });
});
