import { describe, expect, it } from '@jest/globals';
import {
  LockConflictError,
  LockTimeoutError,
  LockUnavailableError,
  MemoryLockStore,
  type LockHandle,
  type LockOptions,
} from '../../../lib/index.js';
import {
  LockStoreError,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
} from '../../../lib/stores/port/index.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { type LockApp, lockApps, queuedIn } from '../../support/lock-app.js';
import { SpiedStore } from '../../support/spied-store.js';
import { blockEventLoop, elapse, rejectionOf, until, within } from '../../support/until.js';

inVirtualTime();

const patient = { waitTime: 20_000 } as const;

const REFUSED = new LockStoreError('not now', { inDoubt: false, retryable: true });

/** A store whose replies to reservations the test controls. */
class SlowTokensStore extends SpiedStore {
  /** The number of tokens in each reservation. */
  readonly tokens: number[] = [];
  private until: Promise<unknown> = Promise.resolve();
  failure: LockStoreError | undefined;
  /** The failure of a forced release, whose outcome is unknown then. */
  breakFailure: LockStoreError | undefined;

  get reservations(): number {
    return this.tokens.length;
  }

  /** Holds replies to reservations back until the returned function is called. */
  hesitate(): () => void {
    let answer = (): void => undefined;
    this.until = new Promise<void>((resolve) => (answer = resolve));
    return answer;
  }

  override open(client: LockStoreClient): LockStoreSession {
    const session = super.open(client);
    const reserve = session.reserve?.bind(session);
    if (reserve === undefined) throw new Error('the memory store reserves');
    session.reserve = async (request) => {
      this.tokens.push(request.tokens);
      if (this.failure !== undefined) throw this.failure;
      const reply = await reserve(request);
      await this.until;
      return reply;
    };
    const breakHold = session.breakHold.bind(session);
    session.breakHold = async (key, hold) => {
      if (this.breakFailure !== undefined) throw this.breakFailure;
      return await breakHold(key, hold);
    };
    return session;
  }
}

/** A held lock, its application and its store. */
interface Changing {
  readonly app: LockApp;
  readonly store: SlowTokensStore;
  readonly first: LockHandle;
}

/** A store that can lose its data. */
class ForgetfulStore implements LockStore {
  readonly name = 'forgetful';
  private isEmpty = false;

  open(client: LockStoreClient): LockStoreSession {
    const [session, empty] = [new MemoryLockStore().open(client), new MemoryLockStore().open(client)];
    const ask = session.acquire.bind(session);
    session.acquire = (request) => (this.isEmpty ? empty.acquire(request) : ask(request));
    return session;
  }

  forget(): void {
    this.isEmpty = true;
  }
}

describe('read locks and permits of one process', () => {
  const start = lockApps();

  async function scene(): Promise<{ app: LockApp; other: LockApp; store: SlowTokensStore }> {
    const memory = new MemoryLockStore();
    const store = new SlowTokensStore(memory);
    return { app: await start({ store }), other: await start({ store: memory }), store };
  }

  it.each<[string, LockOptions]>([
    ['a permit', { limit: 3 }],
    ['an exclusive lock', { limit: 1 }],
  ])('a reply for a caller that has left does not reject the next waiter for %s', async (_, options) => {
    const { app, other, store } = await scene();
    const held = await other.locks.acquire('key', { limit: 5 });
    let answer: () => void = () => undefined;
    const late = new Promise<void>((resolve) => (answer = resolve));
    store.twist = (number) => (number === 1 ? late : undefined);
    const leave = new AbortController();
    const first = rejectionOf(app.locks.acquire('key', { ...options, ...patient, signal: leave.signal }));
    const second = app.locks.acquire('key', { ...options, ...patient });
    await until('the request is sent', () => store.asked.length > 0);
    leave.abort(new Error('enough'));
    expect(await first).toEqual(new Error('enough'));
    await held.release();
    answer();
    await (await within(10_000, 'the second', second)).release();
    expect(await other.locks.isLocked('key')).toBe(false);
    // Both conflict while the other holder is there.
    const again = await other.locks.acquire('key', { limit: 5 });
    const both = [1, 2].map(() => rejectionOf(app.locks.acquire('key', { ...options, ...patient })));
    for (const error of await within(10_000, 'both', Promise.all(both))) {
      expect(error).toBeInstanceOf(LockConflictError);
    }
    await again.release();
  });

  it('P20, P24: a permit whose next tokens do not arrive in time goes to another process', async () => {
    const { app, other, store } = await scene();
    const options = { limit: 2, ...patient };
    const [first, kept] = [
      await app.locks.acquire('key', options),
      await other.locks.acquire('key', options),
    ];
    const rival = other.locks.acquire('key', options);
    await queuedIn(other, 'key');
    const answer = store.hesitate();
    const waiter = app.locks.acquire('key', options);
    await queuedIn(app, 'key');
    expect(store.reservations).toBe(1);
    await first.release();
    const theirs = await within(10_000, 'the other application', rival);
    // The next caller of this process gets it from the store.
    await kept.release();
    const second = await within(10_000, 'the next caller', waiter);
    // A late reply changes nothing.
    answer();
    expect(await second.release()).toBe('released');
    await theirs.release();
    expect(await app.locks.isLocked('key')).toBe(false);
  });

  it('P20: each of several permits that are kept for tokens is released when these do not arrive in time', async () => {
    const { app, other, store } = await scene();
    const options = { limit: 2, ...patient };
    store.hesitate();
    const first = await app.locks.acquire('key', options);
    await elapse(20);
    const second = await app.locks.acquire('key', options);
    const rival = other.locks.acquire('key', options);
    await queuedIn(other, 'key');
    const waiter = app.locks.acquire('key', { ...options, fair: true });
    await queuedIn(app, 'key');
    for (const held of [first, second]) expect(await held.release()).toBe('released');
    const theirs = await within(100, 'the other application', rival);
    // Long before the next poll for its queue position.
    const ours = await within(100, 'the next caller', waiter);
    for (const held of [theirs, ours]) await held.release();
    expect(await app.locks.isLocked('key')).toBe(false);
  });

  it('P25: a reader that is admitted when a late writer times out keeps the read lock of the last reader', async () => {
    const { app, other } = await scene();
    // Tokens for the next readers have arrived.
    const readers = await Promise.all(
      Array.from({ length: 3 }, () => app.locks.acquire('key', { mode: 'shared', ...patient })),
    );
    const writer = rejectionOf(app.locks.acquire('key', { waitTime: 10 }));
    const next = app.locks.acquire('key', { mode: 'shared', ...patient });
    await queuedIn(app, 'key');
    // The timer of the writer is late.
    blockEventLoop(15);
    const released = readers.map((reader) => reader.release());
    const held = await within(10_000, 'the next reader', next);
    expect(await writer).toBeInstanceOf(LockTimeoutError);
    expect(await Promise.all(released)).toEqual(['released', 'released', 'released']);
    expect(held.isHeld).toBe(true);
    expect(await other.locks.tryAcquire('key')).toBeNull();
    expect(await held.release()).toBe('released');
    expect(await other.locks.isLocked('key')).toBe(false);
  });

  it('P25: readers that end together and acquire again use the same read lock, which is released afterwards', async () => {
    const { app, other, store } = await scene();
    const read = async (): Promise<void> => {
      for (let turn = 0; turn < 50; turn++) {
        await app.locks.withLock('key', { mode: 'shared', ...patient }, () => undefined);
      }
    };
    await Promise.all(Array.from({ length: 20 }, read));
    expect(await other.locks.isLocked('key')).toBe(false);
    expect(store.asked.length).toBeLessThan(10);
  });

  it('P25: readers of a process reserve at most 127 tokens at once, and are not limited to 64 hand-overs', async () => {
    const { app, store } = await scene();
    const first = await app.locks.acquire('key', { mode: 'shared' });
    const readers = await Promise.all(
      Array.from({ length: 400 }, () => app.locks.acquire('key', { mode: 'shared', ...patient })),
    );
    expect(store.tokens.slice(1)).toEqual(expect.arrayContaining([127]));
    expect(Math.max(...store.tokens)).toBe(127);
    expect(store.reservations).toBeLessThan(8);
    for (const reader of [first, ...readers]) await reader.release();
  });

  it('P25: a read lock whose readers call release() is released at once', async () => {
    const { app, other } = await scene();
    const readers = await Promise.all(
      Array.from({ length: 3 }, () => app.locks.acquire('key', { mode: 'shared', ...patient })),
    );
    const released = readers.map((reader) => reader.release());
    const writer = await other.locks.tryAcquire('key');
    expect(writer).not.toBeNull();
    expect(await Promise.all(released)).toEqual(['released', 'released', 'released']);
    await writer?.release();
  });

  it('P25: a writer that arrives right after the last reader causes its release at once', async () => {
    const { app } = await scene();
    const order: string[] = [];
    let writer: Promise<unknown> | undefined;
    const write = (): void => {
      writer ??= app.locks.withLock('key', patient, () => void order.push('writes'));
    };
    const read = (): Promise<void> =>
      app.locks.withLock('key', { mode: 'shared', ...patient }, async () => {
        order.push('reads');
        await Promise.resolve();
        // By then the readers have ended, and the next caller is the writer.
        void Promise.resolve().then(() => Promise.resolve().then(write));
      });
    await Promise.all([read(), read(), read()].map((reading) => reading.then(read)));
    await within(10_000, 'the writer', writer ?? Promise.reject(new Error('there is no writer')));
    expect(order.filter((what) => what === 'reads')).toHaveLength(6);
    expect(order.indexOf('writes')).toBe(3);
  });

  it('P25: a read lock is released when its last reader ends while a writer of the process waits', async () => {
    const { app } = await scene();
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const reads = [1, 2, 3].map(() => app.locks.withLock('key', { mode: 'shared', ...patient }, () => ended));
    await until('they read', () => app.admin.held().length === 3);
    const write = app.locks.withLock('key', patient, () => undefined);
    await queuedIn(app, 'key');
    end();
    await within(10, 'the writer', write);
    await Promise.all(reads);
  });

  it('P25: a writer with a single attempt right after the last reader acquires the lock', async () => {
    const { app } = await scene();
    const tried = new Promise<LockHandle | null>((resolve) => {
      const events = app.locks.events.subscribe(({ type }) => {
        if (type !== 'released' || app.admin.held().length > 0) return;
        events.unsubscribe();
        void Promise.resolve().then(async () => {
          resolve(await app.locks.tryAcquire('key'));
        });
      });
    });
    const readers = await Promise.all(
      [1, 2, 3].map(() => app.locks.acquire('key', { mode: 'shared', ...patient })),
    );
    const last = app.locks.withLock('key', { mode: 'shared', ...patient }, () => undefined);
    for (const reader of readers) void reader.release();
    await last;
    const writer = await within(10_000, 'the attempt', tried);
    expect(writer).not.toBeNull();
    await writer?.release();
  });

  it('P25: an unused read lock is released although it was kept for a reader that got another one', async () => {
    const { app, other, store } = await scene();
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const reads = [1, 2, 3].map(() => app.locks.withLock('key', { mode: 'shared', ...patient }, () => ended));
    await until('they read', () => app.admin.held().length === 3);
    store.failure = REFUSED;
    const second = await app.locks.acquire('key', { mode: 'shared', fair: true, ...patient });
    store.failure = undefined;
    // Replies to new requests arrive later than those to reservations.
    store.twist = () => elapse(30);
    let fair: Promise<LockHandle> | undefined;
    const events = app.locks.events.subscribe(({ type }) => {
      if (type !== 'released' || app.admin.held().length !== 1) return;
      fair ??= Promise.resolve().then(() =>
        app.locks.acquire('key', { mode: 'shared', fair: true, ...patient }),
      );
    });
    end();
    await Promise.all(reads);
    events.unsubscribe();
    await (await within(10_000, 'the fair reader', fair ?? Promise.reject(new Error('none')))).release();
    await elapse(200);
    expect((await other.admin.inspect('key'))?.holders).toHaveLength(1);
    await second.release();
    expect(await other.locks.isLocked('key')).toBe(false);
  });

  it('P25: a reader that needs its own read lock requests it although readers before it wait for tokens', async () => {
    const { app, store } = await scene();
    const first = await app.locks.acquire('key', { mode: 'shared' });
    const answer = store.hesitate();
    const before = app.locks.acquire('key', { mode: 'shared', ...patient });
    await queuedIn(app, 'key');
    const own = app.locks.acquire('key', { mode: 'shared', leaseTime: 60_000, waitTime: 30 });
    await (await within(10, 'its own read lock', own)).release();
    answer();
    for (const reader of [first, await before]) await reader.release();
  });

  it.each([
    ['the store rejected the reservation', 'before', (scene: Changing) => (scene.store.failure = REFUSED)],
    ['its lease was extended', 'after', (scene: Changing) => scene.first.extend(300_000)],
    [
      'it stays unavailable after its hold',
      'after',
      (scene: Changing) =>
        scene.first.run(async () => {
          await (await scene.app.locks.acquire('key', { holdAtLeast: 5_000 })).release();
        }),
    ],
    [
      'it may still be broken',
      'after',
      async ({ app, store }: Changing) => {
        store.breakFailure = new LockStoreError('no answer', { inDoubt: true, retryable: true });
        expect(await rejectionOf(app.admin.forceRelease('key', { by: 'me' }))).toBeInstanceOf(
          LockUnavailableError,
        );
      },
    ],
  ])(
    'B13: a caller requests a queue position at once if the lock can’t be handed over: %s',
    async (_, when, change) => {
      const { app, store } = await scene();
      const first = await app.locks.acquire('key');
      const waiting = [];
      if (when === 'before') await change({ app, store, first });
      else waiting.push(app.locks.acquire('key', patient));
      await elapse(1);
      waiting.push(app.locks.acquire('key', patient));
      await elapse(1);
      if (when === 'after') await change({ app, store, first });
      expect(store.asked).toHaveLength(1);
      waiting.push(app.locks.acquire('key', patient));
      await elapse(1);
      expect(store.asked).toHaveLength(2);
      await first.release();
      for (const caller of waiting) await (await within(10_000, 'the next', caller)).release();
    },
  );

  it('P25: a writer behind readers for which a read lock was kept sends its request as soon as they hold it', async () => {
    const { app, store } = await scene();
    const answer = store.hesitate();
    const first = await app.locks.acquire('key', { mode: 'shared' });
    const readers = [1, 2, 3].map(() => app.locks.acquire('key', { mode: 'shared', ...patient }));
    const writer = app.locks.acquire('key', patient);
    await queuedIn(app, 'key');
    await first.release();
    expect(store.asked.some(({ limit }) => limit === 1)).toBe(false);
    answer();
    const held = await within(40, 'the readers', Promise.all(readers));
    expect(store.asked.some(({ limit }) => limit === 1)).toBe(true);
    for (const reader of held) await reader.release();
    await (await within(10_000, 'the writer', writer)).release();
    expect(await app.locks.isLocked('key')).toBe(false);
  });

  it('B23: permits are lost when the store grants one with another limit, which shows that it has lost them', async () => {
    const store = new ForgetfulStore();
    const app = await start({ store });
    const held = [await app.locks.acquire('key', { limit: 3 }), await app.locks.acquire('key', { limit: 3 })];
    store.forget();
    const other = await within(10_000, 'another permit', app.locks.acquire('key', { limit: 5, ...patient }));
    expect([...held, other].map(({ isHeld }) => isHeld)).toEqual([false, false, true]);
    expect(app.events('lost', 'key').map(({ token }) => token)).toEqual(held.map(({ token }) => token));
    await other.release();
  });

  it('B13: callers are served in order when the reply to the first of them arrives too late', async () => {
    const { app, other, store } = await scene();
    const kept = await other.locks.acquire('key', { limit: 2 });
    let answer: () => void = () => undefined;
    const late = new Promise<void>((resolve) => (answer = resolve));
    store.twist = (number) => (number === 1 ? late : undefined);
    const options = { limit: 2, leaseTime: 10_000, ...patient };
    const order: number[] = [];
    const callers = [1, 2].map(async (number) => {
      const held = await app.locks.acquire('key', options);
      order.push(number);
      await held.release();
    });
    await until('both requests are sent', () => store.asked.length >= 2);
    // The lease has not expired in the store yet, but it is no longer safe to use.
    await elapse(9_950);
    answer();
    await within(1_000, 'both', Promise.all(callers));
    expect(order).toEqual([1, 2]);
    await kept.release();
  });
});
