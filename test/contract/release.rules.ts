import { describe, expect, it } from '@jest/globals';
import { type LockHandle, LockLostError, type LockOptions } from '../../lib/index.js';
import { type LockStore, LockStoreError, type OwnerId } from '../../lib/stores/port/index.js';
import { HeldReleases } from '../support/held-releases.js';
import { elapse, rejectionOf, stateOf, until, within } from '../support/until.js';
import { withUncaughtCollected } from '../support/uncaught.js';
import type { ContractContext } from './contract-context.js';

const waysToHold: readonly [string, LockOptions][] = [
  ['an exclusive lock', {}],
  ['a lock with a leaseTime', { leaseTime: 20_000 }],
  ['a fair lock', { fair: true }],
  ['a permit', { limit: 2 }],
  ['a read lock', { mode: 'shared' }],
];

/** What callers and other processes observe while a release is under way, and which calls wait for its reply. */
export function releaseRules(context: ContractContext): void {
  describe('releasing', () => {
    const scene = async (): Promise<{
      store: HeldReleases;
      app: Awaited<ReturnType<typeof context.app>>;
    }> => {
      const store = new HeldReleases(context.store.port());
      return { store, app: await context.app({ store, shutdownTimeout: 10_000 }) };
    };

    it.each(context.supported(waysToHold))(
      'P22: withLock returns before the reply to its release: %s',
      async (_, options) => {
        const { store, app } = await scene();
        const key = context.key();
        const error = new Error('of the work');
        const sendReplies = store.hold();
        expect(
          await within(
            5_000,
            'the value',
            app.locks.withLock(key, options, () => 'value'),
          ),
        ).toBe('value');
        const failed = app.locks.withLock(key, options, () => Promise.reject(error));
        expect(await within(5_000, 'the error', rejectionOf(failed))).toBe(error);
        expect(store.held).toBe(2);
        expect(app.events('released', key)).toHaveLength(2);
        sendReplies();
      },
    );

    it.each(context.supported(waysToHold))(
      'P22: later calls of the process see the lock as released: %s',
      async (_, options) => {
        const { store, app } = await scene();
        const sendReplies = store.hold();
        for (let round = 0; round < 10; round++) {
          const key = context.key();
          await app.locks.withLock(key, options, () => undefined);
          const next = await app.locks.tryAcquire(key);
          expect(next?.isHeld).toBe(true);
          // A second hold, while the first release is still under way.
          await app.locks.withLock(context.key(), options, () => undefined);
          void next?.release();
          expect(await app.locks.isLocked(key)).toBe(false);
        }
        sendReplies();
      },
    );

    it('P22: later calls see many locks that end at the same time as released', async () => {
      const { store, app } = await scene();
      const sendReplies = store.hold();
      const again = Array.from({ length: 100 }, async (_, index) => {
        const key = context.key();
        await app.locks.withLock(key, async () => elapse(index % 3));
        const next = await app.locks.tryAcquire(key);
        void next?.release();
        return next !== null;
      });
      expect(await within(20_000, 'all of them', Promise.all(again))).not.toContain(false);
      sendReplies();
    });

    it('P22: several keys, and a lock that is held for longer than its work', async () => {
      const { store, app } = await scene();
      const keys = [context.key(), context.key(), context.key()];
      const sendReplies = store.hold();
      expect(
        await within(
          5_000,
          'the value',
          app.locks.withLock(keys, () => 'value'),
        ),
      ).toBe('value');
      const next = await app.locks.tryAcquire(keys);
      expect(next?.isHeld).toBe(true);
      void next?.release();
      const [kept] = keys as [string];
      const work = app.locks.withLock(kept, { holdAtLeast: 300 }, () => 'kept');
      expect(await within(5_000, 'the value', work)).toBe('kept');
      expect(await app.locks.tryAcquire(kept)).toBeNull();
      sendReplies();
    });

    it('P22: handle.release() waits for the reply, and so does leaving the scope of `await using`', async () => {
      const { store, app } = await scene();
      const single = await app.locks.acquire(context.key());
      const several = await app.locks.acquire([context.key(), context.key()]);
      const disposed = await app.locks.acquire(context.key());
      const sendReplies = store.hold();
      const outcomes = [single.release(), several.release(), disposed[Symbol.asyncDispose]()];
      await until('all releases are under way', () => store.held === 4);
      for (const outcome of outcomes) expect(await stateOf(outcome)).toBe('pending');
      sendReplies();
      expect(await Promise.all(outcomes)).toEqual(['released', 'released', undefined]);
    });

    it("P22: with onLost 'throw' withLock waits for the reply", async () => {
      const { store, app } = await scene();
      const sendReplies = store.hold();
      const work = app.locks.withLock(context.key(), { onLost: 'throw' }, () => 'value');
      await until('the release is under way', () => store.held === 1);
      expect(await stateOf(work)).toBe('pending');
      sendReplies();
      expect(await work).toBe('value');
    });

    it.each([
      ['one key', 1],
      ['several keys', 3],
    ])(
      "P22: with onLost 'throw' a loss that only the store has recorded is reported: %s",
      async (_, count) => {
        const [app, other] = await context.fleet(2);
        const [stranger] = await context.clients(1);
        const keys = Array.from({ length: count }, () => context.key());
        const [taken] = keys as [string];
        /** The holder is not notified. */
        const lose = async (): Promise<string> => {
          const { owner } = (await other.admin.inspect(taken)) ?? {};
          await stranger.release(taken, owner as OwnerId);
          return 'value';
        };
        const key = count === 1 ? taken : keys;
        expect(await app.locks.withLock(key, lose)).toBe('value');
        const lost = await rejectionOf(app.locks.withLock(key, { onLost: 'throw' }, lose));
        expect(lost).toBeInstanceOf(LockLostError);
        expect(lost).toMatchObject({ code: 'LOCK_LOST', keys: [taken], reason: 'expired', result: 'value' });
        const failing = async (): Promise<never> => {
          await lose();
          throw new Error('of the work');
        };
        const failed = await rejectionOf(app.locks.withLock(key, { onLost: 'throw' }, failing));
        expect(failed).toMatchObject({ message: 'of the work' });
      },
    );

    describe('a loss that only the reply to the release shows', () => {
      it.each(context.supported([...waysToHold, ['a lock with holdAtLeast', { holdAtLeast: 300 }] as const]))(
        'B23: is reported once, like any other: %s',
        async (_, options) => {
          const other = await context.app();
          // Nest has one log for the whole process: that of the application started last.
          const app = await context.app();
          const [stranger] = await context.clients(1);
          const ways = [
            async (key: string, work: (lock: LockHandle) => Promise<void>) => {
              await app.locks.withLock(key, options, work);
            },
            async (key: string, work: (lock: LockHandle) => Promise<void>) => {
              const lock = await app.locks.acquire(key, options);
              await work(lock);
              expect([await lock.release(), await lock.release()]).toEqual(['expired', 'expired']);
            },
          ];
          for (const way of ways) {
            const key = context.key();
            const used: LockHandle[] = [];
            await way(key, async (lock) => {
              expect(lock.signal.aborted).toBe(false);
              used.push(lock);
              const [holder] = (await other.admin.inspect(key))?.holders ?? [];
              // The holder is not notified.
              expect(await stranger.release(key, holder?.owner as OwnerId)).toBe('released');
            });
            await until('the loss is reported', () => app.events('lost', key).length > 0);
            const [lock] = used;
            expect(app.events('lost', key)).toMatchObject([
              { token: lock?.token, reason: 'expired', afterRelease: true },
            ]);
            expect(app.events('released', key)).toHaveLength(1);
            expect(app.log.matching(`"${key}" was lost: the store no longer had it`)).toHaveLength(1);
            expect(app.admin.lost().filter((lost) => lost.key === key)).toHaveLength(1);
            expect(lock?.signal.aborted).toBe(true);
            expect(lock?.signal.reason).toMatchObject({ code: 'LOCK_LOST', keys: [key], reason: 'expired' });
            expect(() => lock?.assertHeld()).toThrow(LockLostError);
            expect(await lock?.release()).toBe('expired');
          }
          expect(app.admin.status().recentLosses).toBe(2);
        },
      );

      it.each(context.supported(waysToHold))(
        'B23, P33: is none if an earlier attempt of the release was carried out: %s',
        async (_, options) => {
          const real = context.store.port();
          let repeated = 0;
          const open: LockStore['open'] = (client) => {
            const session = real.open(client);
            const release = session.release.bind(session);
            session.release = async (request) => {
              const reply = await release(request);
              if (!request.inDoubt) throw new LockStoreError('late', { inDoubt: true, retryable: true });
              repeated += 1;
              return reply;
            };
            return session;
          };
          const app = await context.app({ store: { name: real.name, open } });
          const key = context.key();
          await app.locks.withLock(key, options, () => undefined);
          await until('it is repeated', () => repeated === 1);
          const lock = await app.locks.acquire(key, { waitTime: 10_000, ...options });
          expect(await lock.release()).toBe('released');
          expect(app.events('lost')).toEqual([]);
          expect(app.log.matching('was lost')).toEqual([]);
        },
      );
    });

    it('P22: shutdown waits for the replies', async () => {
      const { store, app } = await scene();
      const sendReplies = store.hold();
      await app.locks.withLock(context.key(), () => undefined);
      const closed = app.close();
      expect(await stateOf(closed)).toBe('pending');
      await elapse(1_500);
      expect(await stateOf(closed)).toBe('pending');
      sendReplies();
      await within(5_000, 'the end', closed);
    });

    it.each([
      ['rejects', (error: Error) => Promise.reject(error)],
      [
        'throws',
        (error: Error) => {
          throw error;
        },
      ],
    ])('P22, P33: a release that the store %s is retried in the background', async (_, fail) => {
      const store = context.store.port();
      let failures = 0;
      const open = store.open.bind(store);
      store.open = (client) => {
        const session = open(client);
        const release = session.release.bind(session);
        session.release = (request) => {
          if (failures >= 3) return release(request);
          failures += 1;
          return fail(new LockStoreError('not now', { inDoubt: failures === 2, retryable: true }));
        };
        return session;
      };
      const app = await context.app({ store });
      const key = context.key();
      const uncaught = await withUncaughtCollected(async () => {
        expect(await app.locks.withLock(key, () => 'value')).toBe('value');
        expect(failures).toBe(1);
        await (await app.locks.acquire(key, { waitTime: 15_000 })).release();
      });
      expect(uncaught).toEqual([]);
      expect(failures).toBe(3);
    });
  });
}
