import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import {
  LockClosedError,
  LockLostError,
  LockNotHeldError,
  LockConflictError,
  LockOptionsError,
  LockTimeoutError,
  LockUpgradeError,
  type LockHandle,
} from '../../lib/index.js';
import { ExclusionWitness } from '../support/exclusion-witness.js';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { bestLateness } from '../support/lateness.js';
import { elapse, next, rejectionOf, stateOf, until, within } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

const patient = { waitTime: 15_000 };

/** Keys together where a store grants several in one step, and spread where it can't. */
type NewKey = () => string;

export function keyArrayRules(context: ContractContext): void {
  describe('arrays of keys', () => {
    const places: [string, () => NewKey][] = [
      ['in one place', () => context.keysTogether()],
      ['anywhere', () => () => context.key()],
    ];

    /** Sorted in the order in which the library acquires them. */
    const sorted = (count: number, newKey: NewKey): string[] =>
      Array.from({ length: count }, (_, index) => `${newKey()}-${String(index)}`).sort();

    const three = (newKey: NewKey): [string, string, string] => sorted(3, newKey) as [string, string, string];

    /** @param by the application whose releases may still be under way: requests on its connection come after them (P22) */
    const freeFor = async (app: LockApp, keys: readonly string[], by?: LockApp): Promise<void> => {
      await context.store.settled();
      for (const key of keys) {
        await by?.locks.isLocked(key);
        const handle = await app.locks.tryAcquire(key);
        expect([key, handle?.isHeld]).toEqual([key, true]);
        await handle?.release();
      }
    };

    describe.each(places)('B12: %s', (_, place) => {
      const newKeys = (): [string, string, string] => three(place());

      it('all are held at once by one handle with the token of each, and freed by one release', async () => {
        const [app, other] = await context.fleet(2);
        const [a, b, c] = newKeys();
        const lock = await app.locks.acquire([c, a, b, a]);
        expect([lock.key, lock.keys]).toEqual([a, [a, b, c]]);
        expect([...lock.tokens.keys()]).toEqual([a, b, c]);
        expect(lock.token).toBe(lock.tokens.get(a));
        expect(lock.isHeld).toBe(true);
        expect(lock.local).toBe(false);
        expect(lock.remaining).toBeGreaterThan(20_000);
        expect(lock.remaining).toBeLessThan(30_000);
        expect(() => lock.assertHeld()).not.toThrow();
        expect(lock.signal.aborted).toBe(false);
        for (const key of lock.keys) {
          expect(await other.locks.tryAcquire(key)).toBeNull();
          expect((await other.admin.inspect(key))?.token).toBe(lock.tokens.get(key));
          expect(app.events('granted', key)).toHaveLength(1);
        }
        expect(Math.abs(lock.acquiredAt - ((await other.admin.inspect(c))?.acquiredAt ?? 0))).toBeLessThan(
          1_000,
        );
        expect(JSON.parse(JSON.stringify(lock))).toMatchObject({
          keys: [a, b, c],
          tokens: Object.fromEntries(lock.tokens),
          isHeld: true,
        });
        expect(inspect(lock)).toMatch(/^LockHandle \{\s+tokens: Map\(3\)/);

        expect(await lock.release()).toBe('released');
        expect(await lock.release()).toBe('released');
        await lock[Symbol.asyncDispose]();
        expect([lock.isHeld, lock.remaining, lock.signal.aborted]).toEqual([false, 0, false]);
        expect(() => lock.assertHeld()).toThrow(LockNotHeldError);
        expect(await rejectionOf(lock.extend(1_000))).toBeInstanceOf(LockNotHeldError);
        for (const key of lock.keys) expect(app.events('released', key)).toHaveLength(1);

        const later = await other.locks.acquire([a, b, c], { waitTime: 0 });
        for (const key of later.keys) {
          expect(later.tokens.get(key)).toBeGreaterThan(lock.tokens.get(key) ?? Infinity);
        }
        await later.release();
      });

      it('all or nothing: when one key is busy, the others are free before the call rejects', async () => {
        const [app, holder, other] = await context.fleet(3);
        for (const busy of [0, 1, 2]) {
          const keys = newKeys();
          const key = keys[busy] ?? '';
          const held = await holder.locks.acquire(key);
          const others = keys.filter((each) => each !== key);
          for (const waitTime of [0, 500]) {
            const start = performance.now();
            const error = await rejectionOf(app.locks.acquire(keys, { waitTime }));
            const waited = performance.now() - start;
            expect(error).toBeInstanceOf(LockTimeoutError);
            expect(error).toMatchObject({ keys: [key] });
            expect(waited).toBeGreaterThanOrEqual(waitTime - 1);
            expect(waited).toBeLessThan(waitTime + 2_000);
            await freeFor(other, others);
          }
          expect(await app.locks.tryAcquire(keys)).toBeNull();
          await freeFor(other, others);
          expect(held.isHeld).toBe(true);
          await held.release();
        }
      });

      it('waits for keys held by other processes, and then holds all of them', async () => {
        const [app, holder, other] = await context.fleet(3);
        const [a, b, c] = newKeys();
        const first = await holder.locks.acquire(b);
        const second = await holder.locks.acquire(c);
        const waiting = app.locks.acquire([a, b, c], patient);
        await queuedIn(app, b);
        expect(await other.locks.tryAcquire(a)).toBeNull();
        await first.release();
        await queuedIn(app, c);
        expect(await other.locks.tryAcquire(b)).toBeNull();
        expect(await stateOf(waiting)).toBe('pending');
        await second.release();
        const lock = await within(5_000, 'all keys', waiting);
        expect(lock.isHeld).toBe(true);
        await lock.release();
      });

      it('B50: keys that the scope already holds are re-entered separately', async () => {
        const [app, other] = await context.fleet(2);
        const [a, b, c] = newKeys();
        for (const outerKeys of [a, b, c, [a, c], [a, b, c]]) {
          await app.locks.withLock(outerKeys, async (outer) => {
            await app.locks.withLock([a, b, c], patient, async (inner) => {
              expect(inner.keys).toEqual([a, b, c]);
              for (const key of outer.keys) expect(inner.tokens.get(key)).toBe(outer.tokens.get(key));
              expect(inner.isHeld).toBe(true);
              // And once more inside.
              await app.locks.withLock([b, c], { waitTime: 0 }, ({ tokens }) => {
                expect([...tokens]).toEqual([...inner.tokens].slice(1));
              });
              for (const key of [a, b, c]) {
                expect(await app.locks.withLock(key, { waitTime: 0 }, ({ token }) => token)).toBe(
                  inner.tokens.get(key),
                );
                expect(await other.locks.tryAcquire(key)).toBeNull();
              }
            });
            expect(outer.isHeld).toBe(true);
            for (const key of [a, b, c]) {
              // On the connection of the release, which is still under way.
              await app.locks.isLocked(key);
              const isFree = await other.locks.tryAcquire(key);
              expect([key, isFree === null]).toEqual([key, outer.keys.includes(key)]);
              await isFree?.release();
            }
          });
          await freeFor(other, [a, b, c], app);
        }
      });

      it('crossing arrays of several processes never wait for each other, and exclude each other', async () => {
        const apps = await context.fleet(3);
        const keys = sorted(5, place());
        const witnesses = new Map(keys.map((key) => [key, new ExclusionWitness()]));
        const rounds = 12;
        let turn = 0;
        const round = async (app: LockApp, index: number): Promise<void> => {
          // Other keys in another order each time, two to four of them.
          const from = (turn += index + 1) % keys.length;
          const some = [...keys.slice(from), ...keys.slice(0, from)].slice(0, 2 + (turn % 3));
          if (turn % 2 === 0) some.reverse();
          await app.locks.withLock(some, patient, async (lock) => {
            for (const key of lock.keys) witnesses.get(key)?.enter();
            await elapse(turn % 3);
            expect(lock.isHeld).toBe(true);
            for (const key of lock.keys) witnesses.get(key)?.leave();
          });
        };
        const caller = async (app: LockApp, index: number): Promise<void> => {
          for (let count = 0; count < rounds; count++) await round(app, index);
        };
        await Promise.all([...apps, ...apps].map(caller));
        for (const [key, { most }] of witnesses) expect([key, most]).toEqual([key, 1]);
      });

      it('with waitTime 0 crossing arrays of two processes succeed in the end, if the pauses between attempts are random', async () => {
        const apps = await context.fleet(2);
        const [a, b, c] = newKeys();
        await Promise.all(
          apps.map(async (app, index) => {
            for (let count = 0; count < 5; count++) {
              const keys = index === 0 ? [a, b, c] : [c, b];
              let lock = await app.locks.tryAcquire(keys);
              while (lock === null) {
                await elapse(1 + Math.random() * 20);
                lock = await app.locks.tryAcquire(keys);
              }
              await lock.release();
            }
          }),
        );
      });
    });

    it('B12: an array with one key, or the same several times, is that key', async () => {
      const app = await context.app();
      const key = context.key();
      for (const keys of [[key], [key, key, key]]) {
        const lock = await app.locks.acquire(keys);
        expect([lock.key, lock.keys]).toEqual([key, [key]]);
        await lock.release();
      }
    });

    it('B12: keys are acquired in the order of their UTF-16 code units', async () => {
      const app = await context.app();
      const newKey = context.keysTogether();
      const common = newKey();
      const ends = ['a', 'Z', 'é', '10', '9', '\u{1F512}', '\uFF5E'];
      const lock = await app.locks.acquire(ends.map((end) => common + end));
      expect(lock.keys).toEqual(['10', '9', 'Z', 'a', 'é', '\u{1F512}', '\uFF5E'].map((end) => common + end));
      await lock.release();
    });

    it('B12: bad keys are rejected before anything is sent', async () => {
      const app = await context.app();
      const key = context.key();
      const bad: [unknown, RegExp][] = [
        [[], /the array of keys must not be empty/],
        [[key, ''], /key 2 of the array: the key must not be empty/],
        [[key, 7], /key 2 of the array: the key must be a string; got 7/],
        [[undefined, key], /key 1 of the array: the key must be a string; got undefined/],
        // An element that is missing.
        [new Array(2).fill(key, 1), /key 1 of the array: the key must be a string; got undefined/],
        [[key, [key]], /key 2 of the array: the key must be a string; got an array/],
        [['x'.repeat(1_025), key], /at most 1024 bytes/],
        [[key, '\uD800'], /half of a surrogate pair/],
        [
          Array.from({ length: 1_001 }, (_, index) => `${key}${String(index)}`),
          /at most 1000 keys .* got 1001/,
        ],
        [new Set([key]), /the key must be a string; got an object/],
      ];
      for (const [keys, message] of bad) {
        const given = keys as string[];
        for (const call of [
          () => app.locks.acquire(given),
          () => app.locks.tryAcquire(given),
          () => app.locks.withLock(given, () => undefined),
        ]) {
          const error = await rejectionOf(Promise.resolve().then<unknown>(call));
          expect(error).toBeInstanceOf(LockOptionsError);
          expect((error as Error).message).toMatch(message);
        }
      }
      expect(app.seen).toEqual([]);
    });

    it('B12: withLock releases all keys whatever the outcome of the work, and passes it one hold', async () => {
      const [app, other] = await context.fleet(2);
      const [a, b] = three(context.keysTogether());
      const seen: (readonly string[] | undefined)[] = [];
      const result = await app.locks.withLock([b, a], async (lock) => {
        seen.push(lock.keys, app.locks.current()?.keys, app.locks.current(b)?.keys);
        expect(app.locks.current(b)?.token).toBe(lock.tokens.get(b));
        app.locks.assertHeld(a);
        app.locks.assertHeld(b);
        return Promise.resolve('value');
      });
      expect(result).toBe('value');
      expect(seen).toEqual([[a, b], [a, b], [b]]);
      await freeFor(other, [a, b], app);
      const failure = new Error('of the work');
      expect(
        await rejectionOf(
          app.locks.withLock([a, b], () => {
            throw failure;
          }),
        ),
      ).toBe(failure);
      await freeFor(other, [a, b], app);
    });

    it('B56: run opens the scope of all keys, and only there', async () => {
      const app = await context.app();
      const [a, b, c] = three(context.keysTogether());
      const lock = await app.locks.acquire([a, b]);
      expect(await app.locks.tryAcquire([b, c])).toBeNull();
      await lock.run(async (same) => {
        expect(same).toBe(lock);
        const inner = await app.locks.acquire([b, c], { waitTime: 0 });
        expect(inner.tokens.get(b)).toBe(lock.tokens.get(b));
        await inner.release();
      });
      expect(app.locks.current()).toBeUndefined();
      await lock.release();
    });

    it('B23: the loss of one key is the loss of the hold; release still frees the others', async () => {
      // Renewed often, so that the loss is detected early.
      const [app, other] = await context.fleet(2, { watchdogTimeout: 900 });
      const [a, b, c] = three(context.keysTogether());
      const lock = await app.locks.acquire([a, b, c]);
      const { signal } = lock;
      expect(await other.admin.forceRelease(b)).toBe(true);
      await until('it is lost', () => signal.aborted);
      expect(signal.reason).toBeInstanceOf(LockLostError);
      expect(signal.reason).toMatchObject({ keys: [b] });
      expect([lock.isHeld, lock.remaining]).toEqual([false, 0]);
      expect(() => lock.assertHeld()).toThrow(LockLostError);
      expect(await rejectionOf(lock.extend(1_000))).toBeInstanceOf(LockLostError);
      expect(await rejectionOf(lock.run(() => undefined))).toBeInstanceOf(LockLostError);
      expect(app.events('lost')).toMatchObject([{ key: b }]);
      // The other keys are still held, not freed under the work.
      expect(await other.locks.tryAcquire(a)).toBeNull();
      expect(await lock.release()).toBe('expired');
      await freeFor(other, [a, b, c]);
      // Requested only after the loss.
      const late = await app.locks.acquire([a, b], { leaseTime: context.leaseOf(30) });
      await until('it is lost', () => !late.isHeld);
      expect(late.signal.aborted).toBe(true);
      await late.release();
    });

    it('B10: waitTime counts from the call through all keys', async () => {
      const [app, holder, other] = await context.fleet(3);
      const [a, b, c] = three(context.keysTogether());
      const first = await holder.locks.acquire(a);
      const last = await holder.locks.acquire(c);
      const start = performance.now();
      const waiting = rejectionOf(app.locks.acquire([a, b, c], { waitTime: 1_000 }));
      await queuedIn(app, a);
      await elapse(500);
      await first.release();
      const error = await waiting;
      const waited = performance.now() - start;
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect(error).toMatchObject({ keys: [c] });
      expect((error as LockTimeoutError).waitedFor).toBeGreaterThanOrEqual(999);
      expect(waited).toBeGreaterThanOrEqual(999);
      expect(waited).toBeLessThan(1_490);
      await freeFor(other, [a, b]);
      await last.release();
    });

    it('B10, B11, B12: the end of waitTime ends a call for very many keys and leaves none of them held', async () => {
      const [app, holder, other] = await context.fleet(3);
      const waitTime = context.store.isInRealTime === true ? 300 : 30;
      const isSlow = context.store.isInRealTime === true || context.store.delay > 0;
      for (const keys of [sorted(300, context.keysTogether()), sorted(300, () => context.key())]) {
        const [last = '', free] = [keys.at(-1), keys.slice(0, -1)];
        const held = await holder.locks.acquire(last);
        const lateness = await bestLateness(
          waitTime,
          () => context.store.roundTrip(),
          async () => {
            const error = await rejectionOf(app.locks.acquire(keys, { waitTime }));
            expect(error).toBeInstanceOf(LockTimeoutError);
            // The caller waits a limited time for them; a busy machine, or a distant store, may need longer.
            const by = isSlow ? app : undefined;
            await freeFor(other, [free[0] ?? '', free[150] ?? '', free.at(-1) ?? ''], by);
          },
        );
        // Each of the three keys is acquired and released to see that it is free, perhaps behind a request of the first process.
        expect(lateness).toBeLessThanOrEqual(50 + (isSlow ? 9 : 6) * context.store.delay);
        await held.release();
      }
    });

    it('nothing is requested after the signal was aborted, even if that was after the call', async () => {
      const [app, other] = await context.fleet(2);
      const keys = three(context.keysTogether());
      const abort = new AbortController();
      const waiting = rejectionOf(app.locks.acquire(keys, { signal: abort.signal }));
      abort.abort('enough');
      expect(await waiting).toBe('enough');
      await freeFor(other, keys);
      expect(app.seen.map(({ type }) => type)).toEqual(['aborted']);
    });

    it('an abort signal ends the wait for any of the keys, and releases the keys acquired so far', async () => {
      const [app, holder, other] = await context.fleet(3);
      const [a, b, c] = three(context.keysTogether());
      const held = await holder.locks.acquire(c);
      expect(await rejectionOf(app.locks.acquire([a, b, c], { signal: AbortSignal.abort('before') }))).toBe(
        'before',
      );
      const abort = new AbortController();
      const waiting = rejectionOf(app.locks.acquire([a, b, c], { ...patient, signal: abort.signal }));
      await queuedIn(app, c);
      abort.abort('enough');
      expect(await waiting).toBe('enough');
      await freeFor(other, [a, b]);
      await held.release();
      const late = new AbortController();
      app.locks.events.subscribe(({ type }) => {
        if (type === 'granted') late.abort('too late');
      });
      // An abort at the moment of the grant may come too late, but nothing is left behind.
      const outcome = await app.locks
        .acquire([a, b, c], { ...patient, signal: late.signal })
        .catch((error: unknown) => error);
      if (outcome !== 'too late') await (outcome as LockHandle).release();
      await freeFor(other, [a, b, c]);
    });

    it('B20: with leaseTime the time counts from the last grant, and no key expires before', async () => {
      const [app, holder, other] = await context.fleet(3);
      const [a, b, c] = three(context.keysTogether());
      const held = await holder.locks.acquire(c);
      const waiting = app.locks.acquire([a, b, c], { ...patient, leaseTime: 600 });
      await queuedIn(app, c);
      const end = performance.now() + 1_500;
      while (performance.now() < end) {
        expect(await other.locks.tryAcquire(a)).toBeNull();
        await elapse(50);
      }
      await held.release();
      const lock = await waiting;
      expect(app.events('lost')).toEqual([]);
      expect(lock.remaining).toBeGreaterThan(350);
      expect(lock.remaining).toBeLessThanOrEqual(600);
      await until('it has expired', () => !lock.isHeld, { deadline: 2_000 });
      expect(lock.signal.aborted).toBe(true);
      await until('all are free', async () => {
        const free = await Promise.all([a, b, c].map((key) => other.locks.isLocked(key)));
        return !free.includes(true);
      });
      expect(await lock.release()).toBe('expired');
    });

    it('B12: a key that is lost while the call waits for another is acquired again', async () => {
      const [app, holder, other] = await context.fleet(3);
      const [a, b] = three(context.keysTogether());
      const held = await holder.locks.acquire(b);
      const waiting = app.locks.acquire([a, b], patient);
      await queuedIn(app, b);
      const lost = next(app.locks.events, ({ type, key }) => type === 'lost' && key === a);
      await other.admin.forceRelease(a);
      await lost;
      await held.release();
      const lock = await waiting;
      expect(lock.isHeld).toBe(true);
      expect(app.events('granted', a)).toHaveLength(2);
      for (const key of [a, b]) expect(await other.locks.tryAcquire(key)).toBeNull();
      expect(await lock.release()).toBe('released');
    });

    it('extend lengthens the lease of each key', async () => {
      const [app, other] = await context.fleet(2);
      const [a, b] = three(context.keysTogether());
      const lock = await app.locks.acquire([a, b], { leaseTime: 500 });
      await lock.extend(20_000);
      expect(lock.remaining).toBeGreaterThan(15_000);
      for (const key of [a, b]) {
        expect((await other.admin.inspect(key))?.remaining).toBeGreaterThan(15_000);
      }
      expect(await rejectionOf(lock.extend(0))).toBeInstanceOf(LockOptionsError);
      await lock.release();
    });

    context.itOfAllKinds('fair, retry, label and the other options apply to each key', async () => {
      const [app, holder] = await context.fleet(2);
      const [a, b] = three(context.keysTogether());
      const fair = await app.locks.acquire([a, b], { fair: true });
      await fair.release();
      const held = await holder.locks.acquire(b);
      const tries = { retry: { maxAttempts: 2 }, waitTime: 10_000 };
      const error = await rejectionOf(app.locks.acquire([a, b], tries));
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect(error).toMatchObject({ keys: [b] });
      const polling = app.locks.acquire([a, b], { retry: {}, waitTime: 10_000 });
      await until('the first key is held', () => app.locks.isLocked(a));
      await held.release();
      await (await polling).release();
    });

    context.itOfAllKinds('mode and limit apply to each key', async () => {
      const [app, other] = await context.fleet(2);
      const [a, b, c] = three(context.keysTogether());
      const readers = await Promise.all([
        app.locks.acquire([a, b], { mode: 'shared' }),
        app.locks.acquire([b, c], { mode: 'shared' }),
        other.locks.acquire([a, b, c], { mode: 'shared' }),
      ]);
      for (const keys of [[a, b], [c], [b, c]]) expect(await app.locks.tryAcquire(keys)).toBeNull();
      const writing = app.locks.acquire([c, a], patient);
      await queuedIn(app, a);
      for (const reader of readers) await reader.release();
      await (await writing).release();

      const both = await app.locks.acquire([a, b], { limit: 2 });
      const one = await other.locks.acquire(b, { limit: 2 });
      const waiting = other.locks.acquire([a, b], { limit: 2, ...patient });
      await queuedIn(other, b);
      expect(await rejectionOf(other.locks.acquire([b, c]))).toBeInstanceOf(LockConflictError);
      expect(await other.locks.isLocked(c)).toBe(false);
      await one.release();
      const second = await waiting;
      expect(second.isHeld).toBe(true);
      await both.release();
      await second.release();
    });

    context.itOfAllKinds(
      'B55: a shared hold of one of the keys can’t become exclusive, and the other keys are not held then',
      async () => {
        const [app, other] = await context.fleet(2);
        const [a, b, c] = three(context.keysTogether());
        await app.locks.withLock(b, { mode: 'shared' }, async () => {
          expect(await rejectionOf(app.locks.acquire([a, b, c]))).toBeInstanceOf(LockUpgradeError);
          await freeFor(other, [a, c]);
          await app.locks.withLock([a, b, c], { mode: 'shared' }, ({ isHeld }) => {
            expect(isHeld).toBe(true);
          });
        });
        await freeFor(other, [a, b, c], app);
      },
    );

    it('B60: at shutdown a caller that waits for one of its keys is rejected, and the other keys are released', async () => {
      const [leaving, holder, other] = await context.fleet(3, { shutdownTimeout: 10_000 });
      const [a, b, c] = three(context.keysTogether());
      const held = await holder.locks.acquire(c);
      const waiting = rejectionOf(leaving.locks.acquire([a, b, c], patient));
      await queuedIn(leaving, c);
      const closed = leaving.close();
      expect(await within(2_000, 'the refusal', waiting)).toBeInstanceOf(LockClosedError);
      await within(5_000, 'the end', closed);
      await freeFor(other, [a, b]);
      expect(await rejectionOf(Promise.resolve().then(() => leaving.locks.acquire([a, b])))).toBeInstanceOf(
        LockClosedError,
      );
      await held.release();
    });
  });
}
