import { afterEach, describe, expect, it } from '@jest/globals';
import {
  LockOptionsError,
  MemoryLockStore,
  type LockOptions,
  type LockStoreClient,
  type LockStoreSession,
} from '../../lib/index.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { SpiedStore } from '../support/spied-store.js';
import { rejectionOf, until, within } from '../support/until.js';

const patient = { waitTime: 20_000 } as const;

/** A store whose answers to requests for tokens come when the test wants them. */
class SlowTokensStore extends SpiedStore {
  reservations = 0;
  until: Promise<unknown> = Promise.resolve();

  override open(client: LockStoreClient): LockStoreSession {
    const session = super.open(client);
    const reserve = session.reserve?.bind(session);
    if (reserve === undefined) throw new Error('the memory store reserves');
    session.reserve = async (request) => {
      this.reservations += 1;
      const reply = await reserve(request);
      await this.until;
      return reply;
    };
    return session;
  }
}

describe('callers of one process that want shares', () => {
  const apps: LockApp[] = [];
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

  async function scene(): Promise<{ app: LockApp; other: LockApp; store: SlowTokensStore }> {
    const memory = new MemoryLockStore();
    const store = new SlowTokensStore(memory);
    const [app, other] = [await LockApp.start({ store }), await LockApp.start({ store: memory })];
    apps.push(app, other);
    return { app, other, store };
  }

  it.each<[string, LockOptions]>([
    ['a share', { limit: 3 }],
    ['all of it', { limit: 1 }],
  ])('an answer to one who is gone is not told to the next who waits for %s', async (_, options) => {
    const { app, other, store } = await scene();
    const held = await other.locks.acquire('key', { limit: 5 });
    let answer: () => void = () => undefined;
    const late = new Promise<void>((resolve) => (answer = resolve));
    store.twist = (number) => (number === 1 ? late : undefined);
    const leave = new AbortController();
    const first = rejectionOf(app.locks.acquire('key', { ...options, ...patient, signal: leave.signal }));
    const second = app.locks.acquire('key', { ...options, ...patient });
    await until('the store was asked', () => store.asked.length > 0);
    leave.abort(new Error('enough'));
    expect(await first).toEqual(new Error('enough'));
    await held.release();
    answer();
    await (await within(10_000, 'the second', second)).release();
    expect(await other.locks.isLocked('key')).toBe(false);
    // While the other one is there, both differ.
    const again = await other.locks.acquire('key', { limit: 5 });
    const both = [1, 2].map(() => rejectionOf(app.locks.acquire('key', { ...options, ...patient })));
    for (const error of await within(10_000, 'both', Promise.all(both))) {
      expect(error).toBeInstanceOf(LockOptionsError);
    }
    await again.release();
  });

  /** One share of two is held by each; one more caller of each waits, the other application's first. */
  async function contended() {
    const { app, other, store } = await scene();
    const options = { limit: 2, ...patient };
    const [first, kept] = [
      await app.locks.acquire('key', options),
      await other.locks.acquire('key', options),
    ];
    const rival = other.locks.acquire('key', options);
    await queuedIn(other, 'key');
    const leave = new AbortController();
    const waiter = app.locks.acquire('key', { ...options, signal: leave.signal });
    await queuedIn(app, 'key');
    let answer: () => void = () => undefined;
    store.until = new Promise<void>((resolve) => (answer = resolve));
    return { app, other, store, options, first, kept, rival, waiter, leave, answer };
  }

  it('P20: a share whose next token does not come in time goes to another process, and does not rest again soon', async () => {
    const { app, store, options, first, kept, rival, waiter, answer } = await contended();
    const start = performance.now();
    await first.release();
    expect(store.reservations).toBe(1);
    const theirs = await within(10_000, 'the other application', rival);
    // The next one of this process has it from the store, and gives it back for the one behind.
    await kept.release();
    const second = await within(10_000, 'the next caller', waiter);
    const third = app.locks.acquire('key', options);
    await second.release();
    // For a second, which a busy machine may need for all this.
    if (performance.now() - start < 1_000) expect(store.reservations).toBe(1);
    const last = await within(10_000, 'the last caller', third);
    // A late answer changes nothing.
    answer();
    expect(await last.release()).toBe('released');
    await theirs.release();
    expect(await app.locks.isLocked('key')).toBe(false);
  });

  it('P20: a share that is kept for a caller who gives up goes back at once', async () => {
    const { app, store, first, kept, rival, waiter, leave, answer } = await contended();
    await first.release();
    expect(store.reservations).toBe(1);
    leave.abort(new Error('enough'));
    expect(await rejectionOf(waiter)).toEqual(new Error('enough'));
    // The answer that is awaited has not come.
    for (const held of [await within(10_000, 'the other application', rival), kept]) await held.release();
    expect(await app.locks.isLocked('key')).toBe(false);
    answer();
  });
});
