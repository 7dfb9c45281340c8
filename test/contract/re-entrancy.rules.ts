import { describe, expect, it } from '@jest/globals';
import { EventEmitter, once } from 'node:events';
import {
  LockLostError,
  LockNotHeldError,
  LockTimeoutError,
  type LockHandle,
  type LockOptions,
} from '../../lib/index.js';
import { ExclusionWitness } from '../support/exclusion-witness.js';
import { elapse, rejectionOf, stateOf, within } from '../support/until.js';
import type { ContractContext } from './contract-context.js';
import { begin } from './running-work.js';

export function reEntrancyRules(context: ContractContext): void {
  describe('re-entrancy', () => {
    it('B50, B16: inside the scope the same key is acquired at once with the same token, and freed with the outermost', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      await app.locks.withLock(key, async (outer) => {
        await app.locks.withLock(key, { waitTime: 0 }, async (inner) => {
          expect(inner.token).toBe(outer.token);
          await app.locks.withLock(key, { waitTime: 0 }, (innermost) => {
            expect(innermost.token).toBe(outer.token);
          });
          expect(inner.isHeld).toBe(true);
        });
        expect(outer.isHeld).toBe(true);
        const acquired = await app.locks.acquire(key, { waitTime: 0 });
        expect(acquired.token).toBe(outer.token);
        await acquired.release();
        expect(acquired.isHeld).toBe(false);
        const tried = await app.locks.tryAcquire(key);
        expect(tried?.token).toBe(outer.token);
        await tried?.release();
        expect(outer.isHeld).toBe(true);
        expect(await other.locks.tryAcquire(key)).toBeNull();
      });
      await context.store.settled();
      // Sent after the release, which may still be under way (P22).
      expect(await app.locks.isLocked(key)).toBe(false);
      expect(await other.locks.isLocked(key)).toBe(false);
    });

    it('current and assertHeld know the innermost hold of their own context', async () => {
      const app = await context.app();
      const [a, b] = [context.key(), context.key()];
      expect(app.locks.current()).toBeUndefined();
      expect(() => app.locks.assertHeld(a)).toThrow(LockNotHeldError);
      await app.locks.withLock(a, async (outer) => {
        expect(app.locks.current()?.token).toBe(outer.token);
        await app.locks.withLock(b, async (inner) => {
          expect(app.locks.current()?.key).toBe(b);
          expect(app.locks.current(a)?.token).toBe(outer.token);
          expect(app.locks.current(b)?.token).toBe(inner.token);
          expect(() => app.locks.assertHeld(a)).not.toThrow();
          await Promise.resolve();
        });
        expect(app.locks.current()?.key).toBe(a);
        expect(app.locks.current(b)).toBeUndefined();
        expect(() => app.locks.assertHeld(b)).toThrow(LockNotHeldError);
      });
      expect(app.locks.current()).toBeUndefined();
    });

    it('B51: branches that acquire the same key exclude each other, with or without a common scope', async () => {
      const app = await context.app();
      const [outer, key] = [context.key(), context.key()];
      const witness = new ExclusionWitness();
      const tokens: number[] = [];
      const branch = (): Promise<void> =>
        app.locks.withLock(key, async (lock) => {
          tokens.push(lock.token);
          witness.enter();
          await elapse(10);
          witness.leave();
        });
      await Promise.all([branch(), branch(), branch()]);
      await app.locks.withLock(outer, () => Promise.all([branch(), branch(), branch()]));
      expect(witness.most).toBe(1);
      expect(new Set(tokens).size).toBe(6);
    });

    it('B52, F42: branches that re-enter an ancestor’s hold exclude each other, in order', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const witness = new ExclusionWitness();
      const order: number[] = [];
      await app.locks.withLock(key, async (lock) => {
        const branch = (index: number): Promise<void> =>
          app.locks.withLock(key, async (inner) => {
            expect(inner.token).toBe(lock.token);
            witness.enter();
            order.push(index);
            await elapse(10);
            witness.leave();
          });
        await Promise.all([0, 1, 2, 3, 4].map(branch));
        expect(await other.locks.tryAcquire(key)).toBeNull();
      });
      expect(witness.most).toBe(1);
      expect(order).toEqual([0, 1, 2, 3, 4]);
    });

    it('B52: a branch that waits for its sibling times out like any other wait', async () => {
      const app = await context.app();
      const key = context.key();
      await app.locks.withLock(key, async () => {
        const sibling = await app.locks.acquire(key);
        expect(await rejectionOf(app.locks.acquire(key, { waitTime: 80 }))).toBeInstanceOf(LockTimeoutError);
        expect(await app.locks.tryAcquire(key)).toBeNull();
        const abort = new AbortController();
        const waiting = rejectionOf(app.locks.acquire(key, { signal: abort.signal }));
        expect(await stateOf(waiting)).toBe('pending');
        abort.abort('enough');
        expect(await waiting).toBe('enough');
        await sibling.release();
        await app.locks.withLock(key, { waitTime: 0 }, () => undefined);
      });
    });

    it('B52: inside a branch the levels nest freely while its sibling waits', async () => {
      const app = await context.app();
      const key = context.key();
      const witness = new ExclusionWitness();
      await app.locks.withLock(key, async () => {
        const branch = (): Promise<void> =>
          app.locks.withLock(key, async () => {
            witness.enter();
            await app.locks.withLock(key, () => app.locks.withLock(key, () => elapse(5)));
            witness.leave();
          });
        await Promise.all([branch(), branch(), branch()]);
      });
      expect(witness.most).toBe(1);
    });

    it('B53, F42: work that outlives the scope acquires the key anew', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const signals = new EventEmitter();
      const forgotten = async (): Promise<{ tried: LockHandle | null; seen: unknown; token: number }> => {
        const seen = app.locks.current(key);
        const tried = await app.locks.tryAcquire(key);
        signals.emit('tried');
        const handle = await app.locks.acquire(key);
        await handle.release();
        return { tried, seen, token: handle.token };
      };
      const { token, outlived } = await app.locks.withLock(key, async (lock) => {
        // A promise that is not awaited, and a timer: both start inside the scope and continue after its end.
        const over = once(signals, 'over');
        const promise = over.then(forgotten);
        const timer = new Promise<void>((resolve) => setTimeout(resolve, 20))
          .then(() => over)
          .then(forgotten);
        return { token: lock.token, outlived: [promise, timer] };
      });
      const rival = await other.locks.acquire(key);
      const bothTried = new Promise<void>((resolve) => {
        let count = 0;
        signals.on('tried', () => {
          count += 1;
          if (count === 2) resolve();
        });
      });
      signals.emit('over');
      await bothTried;
      await rival.release();
      for (const seen of await Promise.all(outlived)) {
        expect(seen.seen).toBeUndefined();
        expect(seen.tried).toBeNull();
        expect(seen.token).toBeGreaterThan(token);
      }
    });

    it('B53: a re-entry that still waits when the scope ends acquires the lock anew', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const { token, left, waiting } = await app.locks.withLock(key, async (lock) => {
        // The first is released later; the second waits for it.
        const left = await app.locks.acquire(key);
        return { token: lock.token, left, waiting: [app.locks.acquire(key)] };
      });
      expect(left.isHeld).toBe(true);
      expect(await left.release()).toBe('released');
      const [fresh] = await Promise.all(waiting);
      expect(fresh?.token).toBeGreaterThan(token);
      expect(await other.locks.tryAcquire(key)).toBeNull();
      expect(await fresh?.release()).toBe('released');
    });

    it('B53: re-entered work that outlives the scope keeps the lock until it ends', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const outer = await app.locks.acquire(key, { label: 'outer' });
      const inner = await outer.run(() => begin(app, key));
      expect(await outer.release()).toBe('kept');
      expect(outer.isHeld).toBe(false);
      expect(inner.lock.isHeld).toBe(true);
      expect(inner.lock.signal.aborted).toBe(false);
      expect(await app.locks.tryAcquire(key)).toBeNull();
      expect(await other.locks.tryAcquire(key)).toBeNull();
      // The handle is no longer open: nothing is missing but the end of the work.
      expect(app.admin.held()).toEqual([
        expect.objectContaining({ key, token: outer.token, label: 'outer', callSite: undefined }),
      ]);
      expect(app.admin.status()).toMatchObject({ holds: 1 });
      const next = [app.locks.acquire(key), other.locks.acquire(key)];
      await inner.end();
      expect(inner.lock.isHeld).toBe(false);
      // One after the other, in any order.
      const fresh = await Promise.all(
        next.map(async (waiting) => {
          const handle = await waiting;
          await handle.release();
          return handle.token;
        }),
      );
      expect(Math.min(...fresh)).toBeGreaterThan(outer.token);
      expect(app.admin.held()).toEqual([]);
    });

    context.itOfAllKinds(
      'B53: the last of several holds releases the lock, at any depth and in any order',
      async () => {
        const [app, other] = await context.fleet(2);
        const key = context.key();
        const outer = await app.locks.acquire(key);
        const [one, two] = await outer.run(() =>
          Promise.all([begin(app, key, { mode: 'shared' }), begin(app, key, { mode: 'shared' })]),
        );
        expect(await outer.release()).toBe('kept');
        await one.end();
        expect(await other.locks.tryAcquire(key)).toBeNull();
        expect(two.lock.isHeld).toBe(true);
        await two.end();
        const second = await other.locks.acquire(key);
        await second.release();

        const first = await app.locks.acquire(key);
        const middle = await first.run(() => app.locks.acquire(key));
        const innermost = await middle.run(() => app.locks.acquire(key));
        expect([await first.release(), await middle.release()]).toEqual(['kept', 'kept']);
        expect([first.isHeld, middle.isHeld, innermost.isHeld]).toEqual([false, false, true]);
        expect(await other.locks.tryAcquire(key)).toBeNull();
        expect(app.admin.held()).toHaveLength(1);
        expect(await innermost.release()).toBe('released');
        await (await other.locks.acquire(key)).release();
      },
    );

    it('B53: of several keys, those that no work has re-entered are free at once', async () => {
      const [app, other] = await context.fleet(2);
      const [a, b] = [context.key(), context.key()].sort() as [string, string];
      const outer = await app.locks.acquire([a, b]);
      const inner = await outer.run(() => begin(app, a));
      expect(await outer.release()).toBe('kept');
      await (await other.locks.acquire(b)).release();
      expect(await other.locks.tryAcquire(a)).toBeNull();
      await inner.end();
      await (await other.locks.acquire(a)).release();
    });

    it('B23, B53: work that keeps the lock after its scope is notified when the lock is lost', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const outer = await app.locks.acquire(key);
      const inner = await outer.run(() => begin(app, key));
      await outer.release();
      const losses: unknown[] = [];
      app.locks.events.subscribe((event) => event.type === 'lost' && losses.push(event.token));
      const lost = once(inner.lock.signal, 'abort');
      expect(await other.admin.forceRelease(key)).toBe(true);
      await lost;
      expect(inner.lock.signal.reason).toBeInstanceOf(LockLostError);
      expect(outer.signal.aborted).toBe(false);
      expect(losses).toEqual([outer.token]);
      await inner.end();
      expect(await inner.lock.release()).toBe('expired');
      await (await other.locks.acquire(key)).release();
    });

    it('B15, B53: a lock that is lost under outer and inner work is not kept by either', async () => {
      const [app, other] = await context.fleet(2);
      const [a, b] = [context.key(), context.key()].sort() as [string, string];
      const outer = await app.locks.acquire([a, b]);
      const inner = await outer.run(() => begin(app, a));
      const lost = once(inner.lock.signal, 'abort');
      expect(await other.admin.forceRelease(a)).toBe(true);
      await lost;
      expect(outer.isHeld).toBe(false);
      expect(await outer.release()).toBe('expired');
      await inner.end();
      expect(await inner.lock.release()).toBe('expired');
      for (const key of [a, b]) await (await other.locks.acquire(key)).release();
    });

    it('B20, B53, B60: work that outlives its scope is renewed, and shutdown waits for it', async () => {
      // Request timeouts are a fraction of it, and must not be too short for a busy machine.
      const watchdogTimeout = context.store.isInRealTime === true ? 2_400 : 600;
      const [app, other] = await context.fleet(2, { watchdogTimeout, shutdownTimeout: 10_000 });
      const key = context.key();
      const outer = await app.locks.acquire(key);
      const inner = await outer.run(() => begin(app, key));
      expect(await outer.release()).toBe('kept');
      expect(await other.locks.tryAcquire(key, { waitTime: 2.5 * watchdogTimeout })).toBeNull();
      expect(inner.lock.isHeld).toBe(true);
      const closed = app.close();
      expect(await other.locks.tryAcquire(key, { waitTime: 1.5 * watchdogTimeout })).toBeNull();
      expect(await stateOf(closed)).toBe('pending');
      expect(inner.lock.isHeld).toBe(true);
      await inner.end();
      await within(5_000, 'the end', closed);
      await (await other.locks.acquire(key)).release();
    });

    it('B53: with reentrant: false a nested call waits, and its error says that it waits for its own lock', async () => {
      const app = await context.app();
      const key = context.key();
      for (const keys of [key, [key, `${key}:other`]]) {
        await app.locks.withLock(key, async (outer) => {
          const options: LockOptions = { reentrant: false, waitTime: 30 };
          expect(await app.locks.tryAcquire(keys, { reentrant: false })).toBeNull();
          expect(await rejectionOf(app.locks.acquire(keys, options))).toMatchObject({
            code: 'LOCK_TIMEOUT',
            message: expect.stringContaining(
              'The asynchronous context of this call holds the lock itself, and reentrant is false',
            ),
          });
          // The scope is there all the same.
          expect(app.locks.current(key)).toBe(outer);
        });
      }
      await (await app.locks.acquire(key, { reentrant: false })).release();
    });

    it('B53: work that outlives run() is outside, though the lock is still held', async () => {
      const app = await context.app();
      const key = context.key();
      const signals = new EventEmitter();
      const handle = await app.locks.acquire(key);
      const forgotten = await handle.run(() => {
        const work = once(signals, 'over').then(() => ({
          current: app.locks.current(key),
          tried: app.locks.tryAcquire(key),
        }));
        return { work };
      });
      signals.emit('over');
      const { current, tried } = await forgotten.work;
      expect(current).toBeUndefined();
      expect(await tried).toBeNull();
      expect(handle.isHeld).toBe(true);
      await handle.release();
    });

    it('F42: work handed to a context that was lost is not re-entrant', async () => {
      const app = await context.app();
      const key = context.key();
      let deliver: (job: () => Promise<unknown>) => void = () => undefined;
      // This loop started before the scope, so the functions it runs are outside of it.
      const worker = new Promise<() => Promise<unknown>>((resolve) => (deliver = resolve)).then((job) =>
        job(),
      );
      await app.locks.withLock(key, async () => {
        deliver(() => app.locks.tryAcquire(key));
        await worker;
      });
      expect(await worker).toBeNull();
    });

    it('B54: an inner call never shortens the outer lease', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      await app.locks.withLock(key, async (outer) => {
        await app.locks.withLock(key, { leaseTime: 50 }, () => elapse(100));
        await elapse(50);
        expect(outer.isHeld).toBe(true);
        expect(await other.locks.tryAcquire(key)).toBeNull();
      });
      await app.locks.withLock(key, { leaseTime: 5_000 }, async (outer) => {
        const before = outer.remaining;
        await app.locks.withLock(key, { leaseTime: 50 }, () => elapse(80));
        expect(outer.remaining).toBeGreaterThan(before - 2_000);
        expect(await other.locks.tryAcquire(key)).toBeNull();
      });
      expect(app.events('lost', key)).toEqual([]);
    });

    it('B54: an inner leaseTime longer than what is left extends the outer lease', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      await app.locks.withLock(key, { leaseTime: 400 }, async (outer) => {
        await app.locks.withLock(key, { leaseTime: 20_000 }, (inner) => {
          expect(inner.remaining).toBeGreaterThan(10_000);
        });
        expect(outer.remaining).toBeGreaterThan(10_000);
        await elapse(450);
        expect(await other.locks.tryAcquire(key)).toBeNull();
        expect(outer.isHeld).toBe(true);
      });
    });

    it('B50, B56: acquire does not make later code re-entrant; run does, and does not release', async () => {
      const app = await context.app();
      const key = context.key();
      const handle = await app.locks.acquire(key);
      expect(app.locks.current(key)).toBeUndefined();
      expect(await app.locks.tryAcquire(key)).toBeNull();
      expect(() => app.locks.assertHeld(key)).toThrow(LockNotHeldError);
      await handle.run(async () => {
        expect(app.locks.current(key)?.token).toBe(handle.token);
        const again = await app.locks.acquire(key, { waitTime: 0 });
        expect(again.token).toBe(handle.token);
        await again.release();
      });
      expect(app.locks.current(key)).toBeUndefined();
      expect(handle.isHeld).toBe(true);
      await handle.release();
    });

    it('F43: opposed nested locks time out with both names', async () => {
      const [one, two] = await context.fleet(2);
      const [a, b] = [context.key(), context.key()];
      const nested = (app: typeof one, outer: string, inner: string): Promise<unknown> =>
        app.locks
          .withLock(outer, { waitTime: 3_000 }, async () => {
            await elapse(30);
            await app.locks.withLock(inner, { waitTime: 200 }, () => undefined);
          })
          .then(
            () => undefined,
            (error: unknown) => error,
          );
      const errors = (await Promise.all([nested(one, a, b), nested(two, b, a)])).filter(Boolean);
      expect(errors.length).toBeGreaterThan(0);
      for (const error of errors) {
        expect(error).toBeInstanceOf(LockTimeoutError);
        expect((error as LockTimeoutError).message).toContain(a);
        expect((error as LockTimeoutError).message).toContain(b);
      }
    });
  });
}
