import { afterEach, describe, expect, it } from '@jest/globals';
import { LockOptionsError, MemoryLockStore, type LockOptions } from '../../lib/index.js';
import { LockApp } from '../support/lock-app.js';
import { SpiedStore } from '../support/spied-store.js';
import { rejectionOf, until, within } from '../support/until.js';

const patient = { waitTime: 20_000 } as const;

describe('callers of one process that want shares', () => {
  const apps: LockApp[] = [];
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

  async function scene(): Promise<{ app: LockApp; other: LockApp; store: SpiedStore }> {
    const memory = new MemoryLockStore();
    const store = new SpiedStore(memory);
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
});
