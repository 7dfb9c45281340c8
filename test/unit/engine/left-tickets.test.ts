import { afterEach, describe, expect, it } from '@jest/globals';
import { LockConflictError, LockUnavailableError, MemoryLockStore } from '../../../lib/index.js';
import { LockStoreError } from '../../../lib/stores/port/index.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { LockApp } from '../../support/lock-app.js';
import { SpiedStore } from '../../support/spied-store.js';
import { elapse, rejectionOf, until, within } from '../../support/until.js';

const patient = { waitTime: 20_000 } as const;

function failure(kind: { readonly inDoubt: boolean; readonly retryable: boolean }): LockStoreError {
  return new LockStoreError('not now', kind);
}

/** Tickets whose caller gave up while the request for a queue position was under way. */
describe('a ticket whose caller gave up', () => {
  inVirtualTime();
  const apps: LockApp[] = [];
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

  async function scene(): Promise<{ app: LockApp; other: LockApp; store: SpiedStore }> {
    const memory = new MemoryLockStore();
    const store = new SpiedStore(memory);
    const [app, other] = [await LockApp.start({ store }), await LockApp.start({ store: memory })];
    apps.push(app, other);
    return { app, other, store };
  }

  it('grants no lock to a caller that was rejected for a conflict meanwhile', async () => {
    const { app, other, store } = await scene();
    const held = await other.locks.acquire('key');
    let answer: () => void = () => undefined;
    const late = new Promise<void>((resolve) => (answer = resolve));
    store.twist = (number) =>
      number === 1 ? late : number === 2 ? failure({ inDoubt: false, retryable: true }) : undefined;
    const leave = new AbortController();
    const first = rejectionOf(app.locks.acquire('key', { ...patient, signal: leave.signal }));
    const odd = rejectionOf(app.locks.acquire('key', { ...patient, limit: 3 }));
    const last = app.locks.acquire('key', patient);
    leave.abort(new Error('enough'));
    expect(await first).toEqual(new Error('enough'));
    await until('the request of the conflicting caller has failed', () => store.asked.length === 2);
    answer();
    expect(await odd).toBeInstanceOf(LockConflictError);
    await held.release();
    await (await within(10_000, 'the last', last)).release();
    expect(await other.locks.isLocked('key')).toBe(false);
  });

  it('grants no lock to a caller that ended because another ticket was rejected', async () => {
    const { app, other, store } = await scene();
    const options = { ...patient, limit: 2 };
    let answer: () => void = () => undefined;
    let refuse: () => void = () => undefined;
    const late = new Promise<void>((resolve) => (answer = resolve));
    const refused = new Promise<void>(
      (_, reject) => (refuse = () => reject(failure({ inDoubt: true, retryable: false }))),
    );
    refused.catch(() => undefined);
    store.twist = (number) => [late, refused][number - 1];
    const leave = new AbortController();
    const first = rejectionOf(app.locks.acquire('key', { ...options, signal: leave.signal }));
    const second = rejectionOf(app.locks.acquire('key', options));
    await until('both requests are sent', () => store.asked.length === 2);
    leave.abort(new Error('enough'));
    expect(await first).toEqual(new Error('enough'));
    refuse();
    expect(await second).toBeInstanceOf(LockUnavailableError);
    answer();
    await elapse(10);
    expect(await other.locks.isLocked('key')).toBe(false);
  });
});
