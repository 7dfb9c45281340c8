import { describe, expect, it } from '@jest/globals';
import { TENURE } from '../../lib/engine/turn.js';
import { patient } from '../support/hand-over.js';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { elapse, until, within } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

const fair = { ...patient, fair: true };

/** Callers of a key in strict order, and the order in which they held the lock. */
function recordingCaller(key: string) {
  const order: string[] = [];
  const use = (at: LockApp, name: string): Promise<void> =>
    at.locks.withLock(key, fair, () => void order.push(name));
  return { order, use };
}

export function fairRules(context: ContractContext): void {
  describe('fair: true', () => {
    it('P20, B13: processes take turns in the order of their requests', async () => {
      const [holder, ...apps] = await context.fleet(4);
      const key = context.key();
      const held = await holder.locks.acquire(key, fair);
      const order: number[] = [];
      const waits: Promise<void>[] = [];
      for (const [index, app] of apps.entries()) {
        waits.push(
          ...Array.from({ length: 4 }, () => app.locks.withLock(key, fair, () => void order.push(index))),
        );
        // Its queue position is known before the next caller arrives.
        await until('it is queued', async () => (await holder.admin.inspect(key))?.waiting === waits.length);
      }
      await held.release();
      await Promise.all(waits);
      expect(order).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    });

    it('P26: without other processes the lock is handed over locally, without a grant for each hold', async () => {
      const app = await context.app();
      const key = context.key();
      const owners = new Set<string | undefined>();
      const tokens: number[] = [];
      const use = (): Promise<void> =>
        app.locks.withLock(key, fair, async ({ token }) => {
          tokens.push(token);
          owners.add((await app.admin.inspect(key))?.owner);
        });
      await Promise.all(Array.from({ length: 20 }, use));
      expect(tokens).toHaveLength(20);
      expect(tokens).toEqual([...new Set(tokens)].sort((one, other) => one - other));
      // On a distant store the reply that no other process waits may come after the hand-over.
      if (context.store.delay < 5) expect(owners.size).toBeLessThan(10);
    });

    it('P26: a caller that arrives after another process queued is served after that process', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const { order, use } = recordingCaller(key);
      const first = await app.locks.acquire(key, fair);
      const theirs = use(other, 'other');
      await queuedIn(other, key);
      const ours = [use(app, 'one'), use(app, 'two')];
      await until('it is in the queue', async () => {
        const waiters = (await other.admin.inspect(key))?.waiters ?? [];
        return waiters.length > 1;
      });
      await first.release();
      await Promise.all([theirs, ...ours]);
      expect(order).toEqual(['other', 'one', 'two']);
    });

    it('P26: a caller does not inherit the queue position of a caller that was served by local hand-over', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const { order, use } = recordingCaller(key);
      const first = await app.locks.acquire(key, fair);
      const one = use(app, 'one');
      await queuedIn(app, key);
      await context.store.settled();
      const theirs = use(other, 'other');
      await queuedIn(other, key);
      const two = use(app, 'two');
      await context.store.settled();
      await first.release();
      await Promise.all([one, theirs, two]);
      expect(order).toEqual(['one', 'other', 'two']);
    });

    it.each([
      ['its work', 0],
      ['its minimum', 200],
    ])('P26: the earliest caller is served first, however long %s keeps the lock', async (_, minimum) => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const { order, use } = recordingCaller(key);
      const held = await other.locks.acquire(key, fair);
      const holdAtLeast = minimum === 0 ? 0 : minimum + 2 * context.store.delay;
      const long = app.locks.acquire(key, { ...fair, holdAtLeast });
      const one = use(app, 'one');
      await queuedIn(app, key);
      await held.release();
      const first = await within(10_000, 'the long hold', long);
      await until('the next one is queued', async () => (await app.admin.inspect(key))?.waiting === 1);
      const theirs = use(other, 'other');
      await queuedIn(other, key);
      if (minimum === 0) await elapse(3 * TENURE);
      await first.release();
      await within(10_000, 'both', Promise.all([one, theirs]));
      expect(order).toEqual(['one', 'other']);
    });

    it('P26: a caller of several keys is served after callers that requested one of them while it waited for another', async () => {
      const [app, other] = await context.fleet(2);
      const [before = '', key = ''] = [context.key(), context.key()].sort();
      const { order, use } = recordingCaller(key);
      const keeping = await other.locks.acquire(before, fair);
      const first = await app.locks.acquire(key, fair);
      const both = app.locks.withLock([before, key], fair, () => void order.push('both'));
      await queuedIn(app, before);
      // The reservation reports that no other process waits.
      const one = use(app, 'one');
      await context.store.settled();
      await context.store.roundTrip();
      const theirs = use(other, 'theirs');
      await queuedIn(other, key);
      await keeping.release();
      await until('all three wait', async () => (await app.admin.inspect(key))?.waiting === 3);
      await first.release();
      await within(10_000, 'all', Promise.all([one, theirs, both]));
      expect(order).toEqual(['one', 'theirs', 'both']);
    });

    it('P26: a caller whose re-entry turned into a normal wait is served after earlier callers', async () => {
      const [app, other] = await context.fleet(2);
      const key = context.key();
      const { order, use } = recordingCaller(key);
      const first = await app.locks.acquire(key, fair);
      // The inner call waits for a sibling branch, which does not end before the outer hold.
      const { late, sibling } = await first.run(async () => {
        const sibling = await app.locks.acquire(key, fair);
        return { late: use(app, 'late'), sibling };
      });
      const next = app.locks.acquire(key, fair);
      await context.store.settled();
      await context.store.roundTrip();
      const theirs = use(other, 'theirs');
      await queuedIn(other, key);
      await first.release();
      await sibling.release();
      const second = await within(10_000, 'the next hold', next);
      await until('both wait', async () => (await app.admin.inspect(key))?.waiting === 2);
      await second.release();
      await within(10_000, 'both', Promise.all([theirs, late]));
      expect(order).toEqual(['theirs', 'late']);
    });
  });
}
