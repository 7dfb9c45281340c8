import { describe, expect, it } from '@jest/globals';
import { LockLostError, LockNotHeldError, LockTimeoutError, type LockHandle } from '../../lib/index.js';
import { ExclusionWitness } from '../support/exclusion-witness.js';
import { handOver, isOnLeaseOf, lineUp, patient } from '../support/hand-over.js';
import { queuedIn } from '../support/lock-app.js';
import { blockEventLoop, elapse, next, rejectionOf, until, within } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

export function handOverRules(context: ContractContext): void {
  const newKey = (): string => context.key();

  describe('local hand-over', () => {
    it('P20: a lock passes to the next caller of the process without a request, as a separate hold', async () => {
      const [app, other] = await context.fleet(2);
      const { key, first, second, outcome } = await handOver(app, other, {
        newKey,
        // Longer hand-over times include the request that prepares the lease.
        meanwhile: () => (context.store.delay > 15 ? undefined : elapse(15)),
      });
      expect(outcome).toBe('released');
      expect(second).not.toBe(first);
      expect(second.token).toBeGreaterThan(first.token);
      expect([...second.tokens]).toEqual([[key, second.token]]);
      expect(second.acquiredAt - first.acquiredAt).toBeGreaterThanOrEqual(13);
      expect(second.signal).not.toBe(first.signal);
      expect(second.isHeld).toBe(true);
      expect(second.remaining).toBeGreaterThan(20_000);
      expect(second.remaining).toBeLessThan(30_000);
      expect(() => second.assertHeld()).not.toThrow();
      expect(await other.locks.tryAcquire(key)).toBeNull();
      expect(await second.release()).toBe('released');
      expect(await other.locks.isLocked(key)).toBe(false);
    });

    it('P20, B15: a hold that was handed over ends at once and cannot affect the next one', async () => {
      const [app, other] = await context.fleet(2);
      const { key, first, second } = await handOver(app, other, { newKey });
      expect(first.isHeld).toBe(false);
      expect(first.remaining).toBe(0);
      expect(() => first.assertHeld()).toThrow(LockNotHeldError);
      expect(await rejectionOf(first.extend(60_000))).toBeInstanceOf(LockNotHeldError);
      expect(await rejectionOf(first.run(() => undefined))).toBeInstanceOf(LockNotHeldError);
      expect(await first.release()).toBe('released');
      await first[Symbol.asyncDispose]();
      expect(second.isHeld).toBe(true);
      expect(second.remaining).toBeLessThan(30_000);
      expect(await isOnLeaseOf(first, other)).toBe(true);
      expect(app.events('released', key)).toHaveLength(1);
      expect(first.signal.aborted).toBe(false);
      await second.release();
      expect(first.signal.aborted).toBe(false);
      expect(second.signal.aborted).toBe(false);
    });

    it('P20: inspect shows the current hold in its own process, and the grant elsewhere', async () => {
      const [app, other] = await context.fleet(2);
      const { key, first, second, rest } = await handOver(app, other, {
        newKey,
        waiters: [{}, {}, {}],
        meanwhile: () => elapse(5),
      });
      const own = await app.admin.inspect(key);
      expect(own).toMatchObject({ token: second.token, acquiredAt: second.acquiredAt, waiting: 2 });
      const seen = await other.admin.inspect(key);
      expect(seen).toMatchObject({ token: first.token, acquiredAt: first.acquiredAt, owner: own?.owner });
      await second.release();
      for (const waiting of rest) await (await waiting).release();
      expect(await app.admin.inspect(key)).toBeNull();
    });

    it('P20: events of the holds are emitted in order, each with its token', async () => {
      const [app, other] = await context.fleet(2);
      const { key, first, second, rest } = await handOver(app, other, { newKey, waiters: [{}, {}] });
      await second.release();
      const third = await rest[0];
      await third?.release();
      const emitted = app.seen.filter(({ type, key: of }) => of === key && /granted|released/.test(type));
      expect(emitted.map(({ type }) => type)).toEqual(
        [first, second, third].flatMap(() => ['granted', 'released']),
      );
      const tokens = [first, second, third].flatMap((hold) => [hold?.token, hold?.token]);
      expect(emitted.map((event) => ('token' in event ? event.token : undefined))).toEqual(tokens);
      for (const event of app.events('granted', key)) expect(event.waitedFor).toBeLessThan(5_000);
      for (const event of app.events('released', key)) expect(event.heldFor).toBeLessThan(5_000);
      expect(app.events('lost')).toEqual([]);
    });

    it('P20, B16: many callers in many processes exclude each other, and tokens grow from one to the next', async () => {
      const apps = await context.fleet(3);
      const key = context.key();
      const witness = new ExclusionWitness();
      const tokens: number[] = [];
      await Promise.all(
        Array.from({ length: 240 }, (_, index) =>
          (apps[index % 3] ?? apps[0]).locks.withLock(key, patient, async (lock) => {
            witness.enter();
            tokens.push(lock.token);
            if (index % 7 === 0) await elapse(1);
            witness.leave();
          }),
        ),
      );
      expect(witness.most).toBe(1);
      expect(tokens).toHaveLength(240);
      expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
      // Neighbouring tokens come from one block only when the lock passed inside a process.
      expect(tokens.some((token, index) => token === (tokens[index - 1] ?? 0) + 1)).toBe(true);
    });

    it('P20, F24: a caller that is aborted at the moment of the hand-over is skipped', async () => {
      const [app, other] = await context.fleet(2);
      for (let round = 0; round < 36; round++) {
        const key = context.key();
        const abort = new AbortController();
        const { first, waits } = await lineUp(app, key, [{ signal: abort.signal }, {}, {}]);
        const listening = app.locks.events.subscribe((event) => {
          if (round % 4 === 3 && event.type === 'released' && event.key === key) abort.abort('enough');
        });
        if (round % 4 === 0) abort.abort('enough');
        const releasing = first.release();
        listening.unsubscribe();
        for (let turn = 0; turn < round; turn++) await Promise.resolve();
        abort.abort('enough');
        const got = await waits[0]?.catch((error: unknown) => expect(error).toBe('enough'));
        // A caller aborted before the hand-over never gets the lock; one aborted later does.
        if (round % 4 === 0 || round % 4 === 3) expect(got).toBeUndefined();
        const holds: LockHandle[] = [first];
        if (got) {
          holds.push(got);
          expect(got.isHeld).toBe(true);
          await got.release();
        }
        for (const waiting of waits.slice(1)) {
          const hold = await within(1_800, 'the next waiter', waiting);
          holds.push(hold);
          expect(hold.isHeld).toBe(true);
          await hold.release();
        }
        expect(await releasing).toBe('released');
        expect(app.events('granted', key).map(({ token }) => token)).toEqual(holds.map(({ token }) => token));
        // The process may have requested a queue position that no caller needs any more.
        await context.store.settled();
        expect(await other.locks.isLocked(key)).toBe(false);
      }
    });

    it('P20, B10: a caller whose waitTime has ended is skipped, even before its timer fires', async () => {
      const app = await context.app();
      const key = context.key();
      const { first, waits } = await lineUp(app, key, [{ waitTime: 10 }, {}]);
      blockEventLoop(20);
      await first.release();
      expect(await rejectionOf(waits[0] ?? Promise.resolve())).toBeInstanceOf(LockTimeoutError);
      await (await waits[1])?.release();
    });

    it('P20, F24, F26: a listener that aborts a wait at the moment of its grant loses the lock for no other caller', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const abort = new AbortController();
      const { first, waits } = await lineUp(app, key, [{ signal: abort.signal }, {}]);
      app.locks.events.subscribe((event) => {
        if (event.type === 'granted' && event.key === key) abort.abort('enough');
      });
      await first.release();
      await (await waits[0]?.catch(() => undefined))?.release();
      await (await within(3_000, 'the next waiter', waits[1] ?? Promise.reject(new Error()))).release();
      expect(await other.locks.isLocked(key)).toBe(false);
      // The same for a grant from the store.
      const again = new AbortController();
      app.locks.events.subscribe((event) => {
        if (event.type === 'granted') again.abort('enough');
      });
      const fresh = context.key();
      await (await app.locks.acquire(fresh, { signal: again.signal }).catch(() => undefined))?.release();
      expect(await other.locks.isLocked(fresh)).toBe(false);
    });

    it('P20, B20: the leaseTime of a caller reaches the store, and its lease is not handed over', async () => {
      const [app, other] = await context.fleet(2);
      for (const leaseTime of [5_000, 120_000]) {
        const { key, second, rest } = await handOver(app, other, {
          newKey,
          waiters: [{}, { leaseTime }, {}],
        });
        await second.release();
        const fixed = await rest[0];
        expect(fixed?.token).toBeGreaterThan(second.token);
        expect((await other.admin.inspect(key))?.token).toBe(fixed?.token);
        // A pushed grant is claimed at the moment the work starts.
        await until('the lease is in the store', async () => {
          const { remaining = 0 } = (await other.admin.inspect(key)) ?? {};
          expect(remaining).toBeLessThanOrEqual(leaseTime);
          return remaining > leaseTime / 2;
        });
        expect(fixed?.remaining).toBeLessThan(leaseTime);
        await fixed?.release();
        const last = await rest[1];
        expect((await other.admin.inspect(key))?.token).toBe(last?.token);
        await until('the last hold is renewed', () => (last?.remaining ?? 0) > 20_000);
        expect(last?.remaining).toBeLessThan(30_000);
        await last?.release();
      }
    });

    it('P20, B20: a lease that was extended beyond the watchdog’s is not handed over', async () => {
      const [app, other] = await context.fleet(2);
      for (let round = 0; round < 5; round++) {
        const key = context.key();
        const { first, waits } = await lineUp(app, key);
        await first.extend(120_000);
        await first.release();
        const second = await waits[0];
        expect((await other.admin.inspect(key))?.token).toBe(second?.token);
        expect((await other.admin.inspect(key))?.remaining).toBeLessThanOrEqual(30_000);
        await second?.release();
      }
    });

    it('P20, B20: a lease that was handed over is renewed for the whole next hold', async () => {
      const [app, other] = [await context.app({ watchdogTimeout: 1_200 }), await context.app()];
      const { key, first, second } = await handOver(app, other, { newKey });
      expect(await other.locks.tryAcquire(key, { waitTime: 2_500 })).toBeNull();
      expect(second.isHeld).toBe(true);
      expect(second.signal.aborted).toBe(false);
      expect(await isOnLeaseOf(first, other)).toBe(true);
      expect(app.events('renewed', key).at(-1)?.token).toBe(second.token);
      expect(await second.release()).toBe('released');
    });

    it('P20, B23: a loss is reported to the current holder only', async () => {
      const other = await context.app();
      // Nest has one log for the whole process: that of the application started last.
      const app = await context.app({ watchdogTimeout: 900 });
      const { key, first, second } = await handOver(app, other, { newKey });
      const [early, late] = [first.signal, second.signal];
      expect(await other.admin.forceRelease(key)).toBe(true);
      await until('the loss is detected', () => late.aborted);
      expect(late.reason).toBeInstanceOf(LockLostError);
      expect(second.isHeld).toBe(false);
      expect(() => second.assertHeld()).toThrow(LockLostError);
      expect(await second.release()).toBe('expired');
      expect(early.aborted).toBe(false);
      expect(() => first.assertHeld()).toThrow(LockNotHeldError);
      expect(await first.release()).toBe('released');
      expect(app.events('lost', key).map(({ token }) => token)).toEqual([second.token]);
      expect(app.log.matching(key)).toHaveLength(1);
    });

    it('P20, B23: when a handed-over hold is lost, the callers behind it are served', async () => {
      const [app, other] = await context.fleet(2, { watchdogTimeout: 900 });
      const { key, second, rest } = await handOver(app, other, { newKey, waiters: [{}, {}] });
      await other.admin.forceRelease(key);
      const third = await within(4_000, 'the next waiter', rest[0] ?? Promise.reject(new Error()));
      expect(third.token).toBeGreaterThan(second.token);
      await until('the loss is detected', () => !second.isHeld);
      expect(third.isHeld).toBe(true);
      expect(third.signal.aborted).toBe(false);
      await third.release();
    });

    it('P20: a caller that arrives late in a hold leaves no queue position behind when the lock passes to it', async () => {
      const [app, other] = await context.fleet(2);
      let passed = 0;
      for (let round = 0; round < 40 && passed < 3; round++) {
        const key = context.key();
        const first = await app.locks.acquire(key);
        await elapse(55);
        // Too late for a local hand-over if other processes wait: the caller gets a queue position, and tokens.
        const reserved = next(app.locks.events, (event) => event.type === 'renewed' && event.key === key);
        const waiting = app.locks.acquire(key, patient);
        await reserved;
        await first.release();
        const second = await waiting;
        if (await isOnLeaseOf(first, other)) {
          passed += 1;
          const vacated = async (): Promise<boolean> => (await other.admin.inspect(key))?.waiting === 0;
          // Immediately, not at its next poll.
          await until('no caller waits', vacated, { deadline: 700 });
        }
        await second.release();
      }
      expect(passed).toBe(3);
    });

    it('P20: another process has its turn after 64 hand-overs at most', async () => {
      const [app, other] = await context.fleet(2);
      for (let round = 0; round < 3; round++) {
        const key = context.key();
        const { first, waits } = await lineUp(app, key);
        const served: ('here' | 'there')[] = [];
        const there = other.locks.withLock(key, patient, () => void served.push('there'));
        await queuedIn(other, key);
        const here = Array.from({ length: 400 }, () =>
          app.locks.withLock(key, patient, () => void served.push('here')),
        );
        await first.release();
        await (await waits[0])?.release();
        await there;
        expect(served.indexOf('there')).toBeLessThanOrEqual(64);
        await Promise.all(here);
        expect(served).toHaveLength(401);
      }
    });

    it('P20: another process has its turn after 50 ms and one critical section', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const first = await app.locks.acquire(key);
      const here = Array.from({ length: 60 }, () => app.locks.withLock(key, patient, () => elapse(5)));
      const there = other.locks.acquire(key, patient);
      await queuedIn(other, key);
      const before = app.events('granted', key).length;
      await first.release();
      const hold = await there;
      // A busy machine makes the sections longer, and so fewer.
      expect(app.events('granted', key).length - before).toBeLessThanOrEqual(14);
      await hold.release();
      await Promise.all(here);
    });
  });
}
