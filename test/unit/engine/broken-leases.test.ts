import { describe, expect, it } from '@jest/globals';
import { MemoryLockStore } from '../../../lib/index.js';
import { LockStoreError, type LockStore } from '../../../lib/stores/port/index.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { lockApps, queuedIn } from '../../support/lock-app.js';
import { stateOf, until, within } from '../../support/until.js';

inVirtualTime();

interface BreakRequest {
  carryOut(): Promise<void>;
  fail(inDoubt: boolean): void;
}

/** A store whose requests to break locks the test lets fail, or carries out late. */
class BreakingStore implements LockStore {
  readonly name = 'a store that breaks late';
  private readonly requests: BreakRequest[] = [];
  private readonly memory = new MemoryLockStore();

  /** The request number `index`, when it has been made. */
  async request(index: number): Promise<BreakRequest> {
    await until(`request ${String(index)}`, () => this.requests.length > index, { every: 1 });
    const request = this.requests[index];
    if (request === undefined) throw new Error('it has been made');
    return request;
  }

  readonly open: LockStore['open'] = (client) => {
    // The store's own message about a broken hold never comes.
    const session = this.memory.open({ ...client, broken: () => undefined });
    const late =
      <A extends unknown[], R>(request: (...args: A) => Promise<R>) =>
      (...args: A): Promise<R> =>
        new Promise((resolve, reject) => {
          this.requests.push({
            carryOut: async () => {
              resolve(await request(...args));
            },
            fail: (inDoubt) => {
              reject(new LockStoreError('it did not answer', { inDoubt, retryable: true }));
            },
          });
        });
    return Object.assign(session, { breakHold: late(session.breakHold.bind(session)) });
  };
}

describe.each(['breakHold', 'forceRelease'] as const)('a lease that its own process breaks by %s', (how) => {
  const start = lockApps({ watchdogTimeout: 600_000, shutdownTimeout: 0 });

  async function scene() {
    const store = new BreakingStore();
    const [app, other] = [await start({ store }), await start({ store })];
    const held = await app.locks.acquire('key');
    const waiting = app.locks.acquire('key', { waitTime: 60_000 });
    await queuedIn(app, 'key');
    const breakIt = () =>
      how === 'forceRelease'
        ? app.admin.forceRelease('key')
        : app.admin.breakHold('key', { token: held.token });
    return { store, app, other, held, waiting, breakIt };
  }

  it('O21: is not handed over while a second request to break it is under way', async () => {
    const { store, held, waiting, breakIt } = await scene();
    const [failing, breaking] = [breakIt(), breakIt()];
    (await store.request(0)).fail(false);
    await expect(failing).rejects.toThrow('it did not answer');
    await held.release();
    const next = await within(5_000, 'the next waiter', waiting);
    // The waiter requests a new lease from the store, so the request breaks only the old one.
    await (await store.request(1)).carryOut();
    await breaking;
    expect(await next.release()).toBe(how === 'breakHold' ? 'released' : 'expired');
  });

  it('O21: is not handed over after a request to break it that failed in doubt and may still be carried out', async () => {
    const { store, other, held, waiting, breakIt } = await scene();
    const breaking = breakIt();
    const request = await store.request(0);
    request.fail(true);
    await expect(breaking).rejects.toThrow('it did not answer');
    await request.carryOut();
    const between = await other.locks.acquire('key');
    await held.release();
    expect(await stateOf(waiting)).toBe('pending');
    await between.release();
    const next = await within(5_000, 'the next waiter', waiting);
    expect(next.token).toBeGreaterThan(between.token);
    expect(await next.release()).toBe('released');
  });
});
