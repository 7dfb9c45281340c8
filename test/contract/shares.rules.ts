import { describe, expect, it } from '@jest/globals';
import {
  backoff,
  LockClosedError,
  LockLostError,
  LockConflictError,
  LockTimeoutError,
  LockUpgradeError,
  type LockHandle,
  type LockOptions,
} from '../../lib/index.js';
import { ExclusionWitness } from '../support/exclusion-witness.js';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { next, rejectionOf, stateOf, until, within } from '../support/until.js';
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

    it('readers of several processes hold a lock together, each with its own token', async () => {
      const [a, b] = await context.fleet(2);
      const key = context.key();
      const handles: LockHandle[] = [];
      for (const app of [a, b, a, b]) handles.push(await app.locks.acquire(key, shared));
      expect(new Set(handles.map(({ token }) => token)).size).toBe(4);
      expect(handles.every(({ isHeld }) => isHeld)).toBe(true);
      expect(await a.locks.tryAcquire(key)).toBeNull();
      expect(await b.locks.tryAcquire(key, { mode: 'exclusive' })).toBeNull();
      expect(await b.locks.isLocked(key)).toBe(true);
      for (const handle of handles) expect(await handle.release()).toBe('released');
      const writer = await a.locks.acquire(key);
      expect(writer.token).toBeGreaterThan(Math.max(...handles.map(({ token }) => token)));
      expect(await b.locks.tryAcquire(key, { mode: 'shared' })).toBeNull();
      await writer.release();
      await context.nothingLeft();
    });

    it('B13: a waiting writer is not overtaken by readers of other processes', async () => {
      const [a, b, c] = await context.fleet(3);
      const key = context.key();
      const reader = await a.locks.acquire(key, shared);
      const order: string[] = [];
      const writer = follow(order, 'writer', b, key, exclusive);
      await queuedIn(b, key);
      const later = follow(order, 'reader', c, key, shared);
      await queuedIn(c, key);
      expect(await a.locks.tryAcquire(key, { mode: 'shared' })).toBeNull();
      await reader.release();
      await (await within(10_000, 'the writer', writer)).release();
      await (await within(10_000, 'the reader', later)).release();
      expect(order).toEqual(['writer', 'reader']);
      await context.nothingLeft();
    });

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
      await context.nothingLeft();
    });

    it('adjacent readers are granted together, however many there are', async () => {
      const [holder, app] = await context.fleet(2);
      const key = context.key();
      const writer = await holder.locks.acquire(key);
      const handles: LockHandle[] = [];
      const readers = Array.from({ length: 100 }, async () => {
        const handle = await app.locks.acquire(key, shared);
        handles.push(handle);
        return handle;
      });
      await queuedIn(app, key);
      await writer.release();
      await until('all readers hold the lock', () => handles.length === 100);
      expect(handles.every(({ isHeld }) => isHeld)).toBe(true);
      await releaseAll(readers);
      await context.nothingLeft();
    });

    it.each([2, 3])('never more than the limit of %i hold it, and every caller is served', async (limit) => {
      const apps = await context.fleet(3);
      const key = context.key();
      const witness = new ExclusionWitness();
      let served = 0;
      const work = apps.flatMap(({ locks }) =>
        Array.from({ length: 15 }, () =>
          locks.withLock(key, { limit, waitTime: 30_000 }, async () => {
            witness.enter();
            served += 1;
            await until('all permits are held', () => witness.most >= limit);
            await context.store.roundTrip();
            witness.leave();
          }),
        ),
      );
      await within(40_000, 'all', Promise.all(work));
      expect(served).toBe(45);
      expect(witness.most).toBe(limit);
      await context.nothingLeft();
    });

    it('readers and writers never hold it together, under load from several processes', async () => {
      const apps = await context.fleet(3);
      const key = context.key();
      const [readers, writers] = [new ExclusionWitness(), new ExclusionWitness()];
      let [reading, together] = [0, 0];
      const work = apps.flatMap(({ locks }) =>
        Array.from({ length: 16 }, (_, n) =>
          n % 4 === 0
            ? locks.withLock(key, { waitTime: 30_000 }, async () => {
                writers.enter();
                if (reading > 0) together += 1;
                await context.store.roundTrip();
                if (reading > 0) together += 1;
                writers.leave();
              })
            : locks.withLock(key, { mode: 'shared', waitTime: 30_000 }, async () => {
                readers.enter();
                reading += 1;
                await context.store.roundTrip();
                reading -= 1;
                readers.leave();
              }),
        ),
      );
      await within(40_000, 'all', Promise.all(work));
      expect(together).toBe(0);
      expect(writers.most).toBe(1);
      expect(readers.most).toBeGreaterThan(1);
      await context.nothingLeft();
    });

    it('B20: an expired lease frees only its own permit, and the next waiter acquires it', async () => {
      const [a, b, c] = await context.fleet(3);
      const key = context.key();
      const kept = await a.locks.acquire(key, { limit: 2 });
      const short = await b.locks.acquire(key, { limit: 2, leaseTime: 400 });
      const third = await within(10_000, 'a permit', c.locks.acquire(key, { limit: 2, waitTime: 8_000 }));
      expect(short.isHeld).toBe(false);
      expect(kept.isHeld).toBe(true);
      expect(await b.locks.tryAcquire(key, { limit: 2 })).toBeNull();
      expect(await short.release()).toBe('expired');
      expect(await b.locks.tryAcquire(key, { limit: 2 })).toBeNull();
      await kept.release();
      await third.release();
      await context.nothingLeft();
    });

    it('B20: the watchdog renews each shared hold', async () => {
      const [a, b] = await context.fleet(2, { watchdogTimeout: 600 });
      const key = context.key();
      const handles = [await a.locks.acquire(key, { limit: 2 }), await b.locks.acquire(key, { limit: 2 })];
      const renewed = (app: LockApp, from: number): boolean => app.events('renewed', key).length >= from;
      await until('each was renewed four times', () => renewed(a, 4) && renewed(b, 4));
      expect(handles.every(({ isHeld }) => isHeld)).toBe(true);
      expect(await a.locks.tryAcquire(key, { limit: 2 })).toBeNull();
      for (const handle of handles) expect(await handle.release()).toBe('released');
      await context.nothingLeft();
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

    it('B10: a permit that is not free in time is a LockTimeoutError, and nothing is left behind', async () => {
      const [a, b] = await context.fleet(2);
      const key = context.key();
      const held = await a.locks.acquire(key);
      const error = await rejectionOf(b.locks.acquire(key, { mode: 'shared', waitTime: 150 }));
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect((error as LockTimeoutError).waitedFor).toBeGreaterThanOrEqual(149);
      expect((error as LockTimeoutError).remaining).toBeGreaterThan(0);
      expect(await b.locks.tryAcquire(key, { mode: 'shared' })).toBeNull();
      expect((await a.admin.inspect(key))?.waiters).toEqual([]);
      await held.release();
      await context.nothingLeft();
    });

    it('a signal ends the wait for a shared hold, and the waiters behind it are served', async () => {
      const [a, b, c] = await context.fleet(3);
      const key = context.key();
      const held = await a.locks.acquire(key, { limit: 2 });
      const other = await a.locks.acquire(key, { limit: 2 });
      const aborter = new AbortController();
      const aborted = rejectionOf(b.locks.acquire(key, { limit: 2, ...exclusive, signal: aborter.signal }));
      await queuedIn(b, key);
      const behind = c.locks.acquire(key, { limit: 2, waitTime: 20_000 });
      await queuedIn(c, key);
      aborter.abort(new Error('enough'));
      expect(await aborted).toEqual(new Error('enough'));
      await held.release();
      await (await within(10_000, 'the next', behind)).release();
      await other.release();
      await context.nothingLeft();
    });

    it('retry works for read locks and semaphores', async () => {
      const [a, b] = await context.fleet(2);
      const key = context.key();
      const held = await a.locks.acquire(key);
      const retry = { backoff: backoff.fixed(20) };
      const polling = b.locks.acquire(key, { mode: 'shared', retry, waitTime: 10_000 });
      const tried = rejectionOf(
        b.locks.acquire(key, { mode: 'shared', retry: { ...retry, maxAttempts: 2 } }),
      );
      expect(await tried).toBeInstanceOf(LockTimeoutError);
      expect(await stateOf(polling)).toBe('pending');
      await held.release();
      await (await within(10_000, 'the permit', polling)).release();
      await context.nothingLeft();
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
      await context.nothingLeft();
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
      await context.nothingLeft();
    });

    it('forceRelease breaks all shared holds: each holder is notified, and the waiters are served', async () => {
      const [a, b, c] = await context.fleet(3);
      const key = context.key();
      const handles = [
        await a.locks.acquire(key, shared),
        await b.locks.acquire(key, shared),
        await a.locks.acquire(key, shared),
      ];
      const writer = c.locks.acquire(key, exclusive);
      await queuedIn(c, key);
      // A client that has waited is notified immediately; any other client detects it at its next renewal.
      expect(await c.admin.forceRelease(key)).toBe(true);
      const lock = await within(10_000, 'the writer', writer);
      for (const handle of handles) {
        await until('the loss is detected', async () => {
          await handle.extend(30_000 + Math.random() * 1_000).catch(() => undefined);
          return handle.signal.aborted;
        });
        expect(handle.signal.reason).toBeInstanceOf(LockLostError);
        expect(await handle.release()).toBe('expired');
      }
      expect(lock.isHeld).toBe(true);
      await lock.release();
      expect(await c.admin.forceRelease(key)).toBe(false);
      await context.nothingLeft();
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
      await context.nothingLeft();
    });

    it('inspect reports an exclusive hold with its label, and semaphores with their limit', async () => {
      const [a, b] = await context.fleet(2);
      const [key, semaphore] = [context.key(), context.key()];
      const held = await a.locks.acquire(key, { label: 'import' });
      expect(await b.admin.inspect(key)).toMatchObject({
        mode: 'exclusive',
        limit: 1,
        label: 'import',
        holders: [{ token: held.token, label: 'import' }],
        waiters: [],
      });
      const share = await a.locks.acquire(semaphore, { limit: 7, label: 'download' });
      expect(await b.admin.inspect(semaphore)).toMatchObject({ mode: 'shared', limit: 7, label: 'download' });
      await held.release();
      await share.release();
      await context.nothingLeft();
    });

    it('B60: at shutdown waiters are rejected, and shared holds are renewed until they end', async () => {
      const app = await context.app({ shutdownTimeout: 5_000 });
      const other = await context.app();
      const key = context.key();
      const kept = await app.locks.acquire(key, { limit: 2 });
      const full = await other.locks.acquire(key, { limit: 2 });
      const waiting = rejectionOf(app.locks.acquire(key, { limit: 2, waitTime: 20_000 }));
      await queuedIn(app, key);
      const closed = app.close();
      expect(await waiting).toBeInstanceOf(LockClosedError);
      expect(kept.isHeld).toBe(true);
      expect(await kept.release()).toBe('released');
      await closed;
      await full.release();
      await context.nothingLeft();
    });
  });
}
