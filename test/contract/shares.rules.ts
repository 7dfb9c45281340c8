import { describe, expect, it } from '@jest/globals';
import { LockConflictError, LockUpgradeError, type LockHandle, type LockOptions } from '../../lib/index.js';
import { ExclusionWitness } from '../support/exclusion-witness.js';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { next, rejectionOf, within } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

const shared = { mode: 'shared', waitTime: 20_000 } as const;
const exclusive = { waitTime: 20_000 } as const;

/** Read locks and semaphores through the public API. */
export function sharesRules(context: ContractContext): void {
  describe('read locks and semaphores', () => {
    /** Acquires the lock and records the name, in the order of the grants. */
    const follow = (
      order: string[],
      name: string,
      app: LockApp,
      key: string,
      options: LockOptions,
    ): Promise<LockHandle> =>
      app.locks.acquire(key, options).then((handle) => {
        order.push(name);
        return handle;
      });
    /** Resolves when one more call of that application waits. */
    const oneMoreQueued = async (app: LockApp, key: string, act: () => unknown): Promise<void> => {
      const queued = next(app.locks.events, (event) => event.type === 'queued' && event.key === key);
      act();
      await queued;
    };
    const releaseAll = async (handles: readonly Promise<LockHandle>[]): Promise<void> => {
      for (const handle of handles) await (await handle).release();
    };

    it('B13: readers and writers of one process are served in the order of their calls', async () => {
      const [holder, app] = await context.fleet(2);
      const key = context.key();
      const first = await holder.locks.acquire(key);
      const order: string[] = [];
      const calls: [string, LockOptions][] = [
        ['w1', exclusive],
        ['w2', exclusive],
        ['r3', shared],
        ['r4', shared],
        ['w5', exclusive],
        ['r6', shared],
        ['w7', exclusive],
        ['w8', exclusive],
      ];
      const work = calls.map(([name, options]) =>
        app.locks.withLock(key, options, async () => {
          order.push(name);
          await context.store.roundTrip();
        }),
      );
      await queuedIn(app, key);
      await first.release();
      await within(20_000, 'all', Promise.all(work));
      // Two adjacent readers are granted together, so either may begin first.
      expect(order.slice(2, 4).sort()).toEqual(['r3', 'r4']);
      order.splice(2, 2);
      expect(order).toEqual(['w1', 'w2', 'w5', 'r6', 'w7', 'w8']);
    });

    const limitOf = ({ mode, limit = mode === 'shared' ? Infinity : 1 }: LockOptions): number => limit;

    it.each<[string, LockOptions, LockOptions]>([
      ['limit 3', { limit: 3 }, { limit: 5 }],
      ['limit 3', { limit: 3 }, {}],
      ['limit 3', { limit: 3 }, { mode: 'shared' }],
      ["mode 'shared'", { mode: 'shared' }, { limit: 5 }],
      ["mode 'exclusive'", {}, { limit: 5 }],
    ])('a conflict reports both values: %s, %j, %j', async (held, first, second) => {
      const [a, b] = await context.fleet(2);
      const key = context.key();
      const handle = await a.locks.acquire(key, first);
      for (const app of [a, b]) {
        for (const waitTime of [0, 5_000]) {
          const error = await rejectionOf(app.locks.acquire(key, { ...second, waitTime }));
          expect(error).toBeInstanceOf(LockConflictError);
          const { message, keys, limit, othersLimit } = error as LockConflictError;
          expect([keys, limit, othersLimit]).toEqual([[key], limitOf(second), limitOf(first)]);
          const [, ...asked] =
            /requested with (.*), but is held or waited for with (.*)\. Use/.exec(message) ?? [];
          expect(asked[1]).toContain(held);
          expect(asked[0]).not.toBe(asked[1]);
        }
        expect(await rejectionOf(app.locks.tryAcquire(key, second))).toBeInstanceOf(LockConflictError);
      }
      expect(handle.isHeld).toBe(true);
      await handle.release();
      await context.nothingLeft();
      await (await b.locks.acquire(key, second)).release();
    });

    it('B55: shared inside exclusive is re-entry, exclusive inside shared a LockUpgradeError at once', async () => {
      const app = await context.app();
      const key = context.key();
      await app.locks.withLock(key, async (outer) => {
        await app.locks.withLock(key, { mode: 'shared' }, async (inner) => {
          expect(inner.token).toBe(outer.token);
          const error = await rejectionOf(app.locks.acquire(key, { waitTime: 10_000 }));
          expect(error).toBeInstanceOf(LockUpgradeError);
          expect(error).toMatchObject({ code: 'LOCK_UPGRADE', keys: [key] });
        });
      });
      await app.locks.withLock(key, { mode: 'shared' }, async (outer) => {
        expect(await rejectionOf(app.locks.tryAcquire(key))).toBeInstanceOf(LockUpgradeError);
        expect(await rejectionOf(app.locks.withLock(key, () => 1))).toBeInstanceOf(LockUpgradeError);
        await app.locks.withLock(key, { mode: 'shared' }, (inner) => {
          expect(inner.token).toBe(outer.token);
        });
        expect(await rejectionOf(app.locks.acquire(key, { limit: 3 }))).toBeInstanceOf(LockConflictError);
      });
      await app.locks.withLock(key, { limit: 3 }, async (outer) => {
        await app.locks.withLock(key, { limit: 3 }, (inner) => {
          expect(inner.token).toBe(outer.token);
        });
        for (const other of [{}, { mode: 'shared' }, { limit: 2 }] as LockOptions[]) {
          expect(await rejectionOf(app.locks.acquire(key, other))).toBeInstanceOf(LockConflictError);
        }
      });
    });

    it('B52: branches that re-enter as readers run together, any other branch runs alone', async () => {
      const app = await context.app();
      const key = context.key();
      const inside = new ExclusionWitness();
      const branch = (options: LockOptions, most: number) => async (): Promise<void> => {
        await app.locks.withLock(key, options, async () => {
          inside.enter();
          await context.store.roundTrip();
          expect(inside.most).toBeLessThanOrEqual(most);
          inside.leave();
        });
      };
      await app.locks.withLock(key, async () => {
        const readers = [1, 2, 3].map(branch({ mode: 'shared' }, 3).bind(undefined));
        await Promise.all(readers);
        expect(inside.most).toBe(3);
        inside.most = 0;
        await Promise.all([branch({}, 1)(), branch({ mode: 'shared' }, 1)(), branch({}, 1)()]);
      });
      inside.most = 0;
      await app.locks.withLock(key, { limit: 5 }, async () => {
        await Promise.all([1, 2, 3].map(branch({ limit: 5 }, 1).bind(undefined)));
      });
    });

    it('inspect reports holders and waiters in order, with labels and processes', async () => {
      const [a, b, c] = await context.fleet(3);
      const key = context.key();
      const first = await a.locks.acquire(key, { ...shared, label: 'report: monthly "ü" €' });
      const second = await b.locks.acquire(key, { ...shared, leaseTime: 10_000 });
      const order: string[] = [];
      let waits: Promise<LockHandle>[] = [];
      await oneMoreQueued(c, key, () => {
        waits = [follow(order, 'import', c, key, { ...exclusive, label: 'import' })];
      });
      await oneMoreQueued(b, key, () => {
        waits.push(follow(order, 'read again', b, key, { ...shared, label: 'read again' }));
      });
      const info = await a.admin.inspect(key);
      const here = { host: expect.any(String) as unknown, pid: process.pid };
      expect(info).toMatchObject({ key, mode: 'shared', limit: Infinity, waiting: 2 });
      expect(info).toMatchObject({ token: first.token, acquiredAt: first.acquiredAt, process: here });
      expect(info?.holders).toMatchObject([
        { token: first.token, acquiredAt: first.acquiredAt, label: 'report: monthly "ü" €', process: here },
        { token: second.token, acquiredAt: second.acquiredAt, label: undefined, process: here },
      ]);
      const [kept, short] = info?.holders.map(({ remaining }) => remaining) ?? [];
      expect(kept).toBeGreaterThan(20_000);
      expect(short).toBeGreaterThan(5_000);
      expect(short).toBeLessThanOrEqual(10_000);
      expect(info?.waiters).toMatchObject([
        { callers: 1, mode: 'exclusive', limit: 1, label: 'import', process: here },
        { callers: 1, mode: 'shared', limit: Infinity, label: 'read again', process: here },
      ]);
      expect(await c.admin.inspect(key)).toMatchObject({
        waiting: 2,
        waiters: [{ label: 'import' }, { label: 'read again' }],
      });
      await first.release();
      await second.release();
      await releaseAll(waits);
      expect(order).toEqual(['import', 'read again']);
      expect(await a.admin.inspect(key)).toBeNull();
    });
  });
}
