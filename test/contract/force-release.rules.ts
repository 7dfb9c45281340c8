import { describe, expect, it } from '@jest/globals';
import type { LockOptions } from '../../lib/index.js';
import { queuedIn } from '../support/lock-app.js';
import { FallbackLockStore } from '../../lib/stores/fallback/fallback-lock-store.js';
import { CutStore } from '../support/cut-store.js';
import { rejectionOf, until } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

const kinds: [string, LockOptions, number][] = [
  ['a single attempt', { waitTime: 0 }, 1],
  ['a single attempt of a reader', { waitTime: 0, mode: 'shared' }, 1],
  ['a single attempt for a permit', { waitTime: 0, limit: 2 }, 1],
  ['a call with retry', { retry: {} }, 1],
  ['a call that waits', {}, 1],
  ['a reader that waits', { mode: 'shared' }, 1],
  ['a call for several locks', {}, 2],
  ['a single attempt for several locks', { waitTime: 0 }, 2],
];

/** Locks that are broken by force at the moment of the grant. */
export function forceReleaseRules(context: ContractContext): void {
  describe('forceRelease at the moment of a grant', () => {
    it.each(context.supported(kinds))(
      'B23: %s never reports a broken hold as held',
      async (_, options, size) => {
        // No renewal reports the loss in this test.
        const [app, operator] = await context.fleet(2, { watchdogTimeout: 600_000 });
        const keyTogether = context.keysTogether();
        const keys = Array.from({ length: size }, keyTogether).sort();
        const [key = ''] = keys;
        // A process that has waited once is notified of broken locks.
        const held = await operator.locks.acquire(key);
        const waiting = app.locks.acquire(key, { waitTime: 15_000 });
        await queuedIn(app, key);
        await until('every server notifies it', async () => (await context.store.isListening?.()) ?? true);
        await held.release();
        await (await waiting).release();
        for (let turns = 0; turns < 12; turns++) {
          const asking = app.locks.tryAcquire(keys, { waitTime: 15_000, ...options });
          for (let turn = 0; turn < turns; turn++) await Promise.resolve();
          await operator.admin.forceRelease(key);
          const handle = await asking;
          expect(handle).not.toBeNull();
          if (handle === null) continue;
          await until('the holder agrees with the store', async () => {
            const stored = await operator.admin.inspect(key);
            return !handle.isHeld || stored?.token === handle.tokens.get(key);
          });
          await handle.release();
        }
      },
    );
  });

  it('F70: with a fallback, a request that fails changes nothing, and another one ends exactly that hold', async () => {
    const store = new CutStore(context.store.port());
    const [holder, [other]] = [await context.client(new FallbackLockStore(store)), await context.clients(1)];
    const [key, owner, next] = [context.key(), holder.newOwner(), other.newOwner()];
    await holder.take(key, owner);
    store.cut();
    expect(await rejectionOf(holder.forceRelease(key))).toMatchObject({ unreachable: true });
    expect(holder.broken).toEqual([]);
    store.connect();
    expect(await holder.renew({ key, owner, lease: 20_000 })).toEqual(['renewed']);
    expect(await holder.forceRelease(key)).toBe(true);
    await other.take(key, next);
    expect(await holder.renew({ key, owner, lease: 20_000 })).not.toEqual(['renewed']);
    expect(await other.release(key, next)).toBe('released');
  });

  describe('O21: breakHold', () => {
    it.each([{ by: '' }, { by: 7 }, { who: 'alice' }, { token: 1 }, 'alice'])(
      'rejects the options %j',
      async (options) => {
        const app = await context.app();
        const key = context.key();
        await expect(app.admin.forceRelease(key, options as object)).rejects.toThrow('forceRelease()');
        await expect(app.admin.breakHold(key, { token: 1 }, options as object)).rejects.toThrow(
          'breakHold()',
        );
      },
    );

    it.each([{ owner: '' }, { token: '1' }, { token: -1 }, { id: 1 }, 7, null])(
      'rejects the hold %j',
      async (hold) => {
        const app = await context.app();
        await expect(app.admin.breakHold(context.key(), hold as object)).rejects.toThrow('breakHold()');
      },
    );

    it('breaks nothing on an undefined condition', async () => {
      const [app, operator] = await context.fleet(2);
      const key = context.key();
      const hold = await app.locks.acquire(key);
      await expect(operator.admin.breakHold(key, {})).rejects.toThrow('name the hold');
      await expect(operator.admin.breakHold(key, { token: undefined })).rejects.toThrow('name the hold');
      expect(await hold.release()).toBe('released');
    });

    it.each(
      context.supported([
        ['an exclusive lock', {}],
        ['a read lock', { mode: 'shared' }],
        ['a permit of a semaphore', { limit: 2 }],
      ] as [string, LockOptions][]),
    )(
      'reports whether it broke the hold, the lock was free, or it had other holders: %s',
      async (_, options) => {
        const [app, operator] = await context.fleet(2);
        const key = context.key();
        const first = await app.locks.acquire(key, options);
        const { token } = first;
        const { owner } = (await operator.admin.inspect(key)) ?? {};
        await first.release();
        expect(await operator.admin.breakHold(key, { token })).toBe('free');
        const second = await app.locks.acquire(key, options);
        expect(await operator.admin.breakHold(key, { token })).toBe('held-by-others');
        expect(await operator.admin.breakHold(key, { owner })).toBe('held-by-others');
        expect(operator.events('broken')).toEqual([]);
        const [holder] = (await operator.admin.inspect(key))?.holders ?? [];
        expect(holder?.token).toBe(second.token);
        expect(second.isHeld).toBe(true);
        const named = { owner: holder?.owner, token: second.token };
        expect(await operator.admin.breakHold(key, { ...named, token })).toBe('held-by-others');
        expect(await operator.admin.breakHold(key, { ...named, owner: 'nobody:1' })).toBe('held-by-others');
        // What inspect() returns names the hold.
        expect(await operator.admin.breakHold(key, holder ?? {}, { by: 'alice' })).toBe('broken');
        expect(operator.events('broken')).toMatchObject([{ key, by: 'alice' }]);
        const line = `${JSON.stringify(key)} was broken by force, by "alice"`;
        expect(operator.log.matching(line)).toHaveLength(1);
        expect(await operator.admin.inspect(key)).toBeNull();
        expect(await operator.admin.breakHold(key, named)).toBe('free');
        expect(operator.events('broken')).toHaveLength(1);
        expect(await second.release()).toBe('expired');
      },
    );

    context.itOfAllKinds.each([
      ['readers', { mode: 'shared' }],
      ['a semaphore', { limit: 3 }],
    ] as [string, LockOptions][])('of %s ends one hold and leaves the others intact', async (_, options) => {
      const [one, two, three, operator] = await context.fleet(4);
      const key = context.key();
      const holds = [];
      for (const app of [one, two, three]) holds.push(await app.locks.acquire(key, options));
      const [first, broken, last] = holds;
      if (first === undefined || broken === undefined || last === undefined) throw new Error('three hold it');
      expect(await operator.admin.breakHold(key, { token: broken.token })).toBe('broken');
      expect(await operator.admin.breakHold(key, { token: broken.token })).toBe('held-by-others');
      const holders = (await operator.admin.inspect(key))?.holders.map(({ token }) => token);
      expect(holders).toEqual([first.token, last.token]);
      expect(await broken.release()).toBe('expired');
      expect(await first.release()).toBe('released');
      expect(await last.release()).toBe('released');
    });

    it.each(
      context.supported([
        ['the next waiter', {}, 1],
        ['the next waiter for a semaphore', { limit: 2 }, 2],
      ] as [string, LockOptions, number][]),
    )('grants the freed permit to %s', async (_, options, size) => {
      const [app, next, operator] = await context.fleet(3);
      const key = context.key();
      const holds = [];
      for (let held = 0; held < size; held += 1) holds.push(await app.locks.acquire(key, options));
      const waiting = next.locks.acquire(key, { ...options, waitTime: 60_000 });
      await queuedIn(next, key);
      const [first] = holds;
      expect(await operator.admin.breakHold(key, { token: first?.token })).toBe('broken');
      const following = await waiting;
      expect(following.token).toBeGreaterThan(first?.token ?? Infinity);
      expect(await first?.release()).toBe('expired');
      for (const hold of [...holds.slice(1), following]) expect(await hold.release()).toBe('released');
    });

    it.each(['of another process', 'of its own process'])(
      'P20: never breaks a hold that begins while it breaks another one: %s',
      async (where) => {
        // No renewal reports the loss in this test.
        const [app, other, third] = await context.fleet(3, { watchdogTimeout: 600_000 });
        const isOwn = where === 'of its own process';
        const [following, operator] = isOwn ? [app, app] : [other, third];
        const key = context.key();
        for (let turns = 0; turns < 12; turns++) {
          const seen = await app.locks.acquire(key, { waitTime: 15_000 });
          const waiting = following.locks.acquire(key, { waitTime: 15_000 });
          const isQueued = async (): Promise<boolean> =>
            isOwn || (await operator.admin.inspect(key))?.waiting === 1;
          await until('it is queued', isQueued);
          const breaking = operator.admin.breakHold(key, { token: seen.token });
          for (let turn = 0; turn < turns; turn++) await Promise.resolve();
          await seen.release();
          const next = await waiting;
          expect(['broken', 'free', 'held-by-others']).toContain(await breaking);
          expect(await next.release()).toBe('released');
        }
      },
    );

    it('P20: recognises the current one of the holds that follow each other in its process', async () => {
      const app = await context.app();
      const key = context.key();
      const first = await app.locks.acquire(key);
      const waiting = app.locks.acquire(key, { waitTime: 60_000 });
      await queuedIn(app, key);
      await first.release();
      const second = await waiting;
      expect(await app.admin.breakHold(key, { token: first.token })).toBe('held-by-others');
      expect(second.isHeld).toBe(true);
      expect(await app.admin.breakHold(key, { token: second.token })).toBe('broken');
      expect(await second.release()).toBe('expired');
    });

    it.each(['breakHold', 'forceRelease'] as const)(
      'P20, B23: no hold begins on a lease that its own process has broken: %s',
      async (how) => {
        // No renewal reports the loss in this test, and the process has never waited in the store's queue.
        const [app, other] = await context.fleet(2, { watchdogTimeout: 600_000 });
        const key = context.key();
        const held = await app.locks.acquire(key);
        const waiting = app.locks.acquire(key, { waitTime: 60_000 });
        await queuedIn(app, key);
        if (how === 'forceRelease') expect(await app.admin.forceRelease(key)).toBe(true);
        else expect(await app.admin.breakHold(key, { token: held.token })).toBe('broken');
        expect(held.isHeld).toBe(false);
        const between = await other.locks.tryAcquire(key);
        let hasBegun = false;
        void waiting.then(() => (hasBegun = true));
        expect(await held.release()).toBe('expired');
        await context.store.roundTrip();
        expect(between !== null && hasBegun).toBe(false);
        expect(await between?.release()).toBe(between === null ? undefined : 'released');
        const next = await waiting;
        expect(next.token).toBeGreaterThan(between?.token ?? held.token);
        expect((await other.admin.inspect(key))?.token).toBe(next.token);
        expect(await next.release()).toBe('released');
      },
    );
  });
}
