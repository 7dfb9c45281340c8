import { describe, expect, it } from '@jest/globals';
import { LockStoreError } from '../../../../lib/stores/port/index.js';
import { FallbackLockStore } from '../../../../lib/stores/fallback/fallback-lock-store.js';
import { PortClient } from '../../../contract/port-client.js';
import { AwayStore } from '../../../support/away-store.js';
import { Endings } from '../../../support/endings.js';
import { inVirtualTime } from '../../../support/in-virtual-time.js';
import { elapse, rejectionOf, stateOf, until } from '../../../support/until.js';
import { comeBack, goLocal } from './outage.js';

inVirtualTime();

const waiting = { wait: true };
const LOCAL_GRANT = { outcome: 'granted', local: true };

/** Crossing replies and messages, which can't be provoked reliably through the engine. */
describe('the session with a fallback', () => {
  const endings = new Endings();

  async function open(store: AwayStore | AwayStore['inside']): Promise<PortClient> {
    const opened = store instanceof AwayStore ? new FallbackLockStore(store) : store;
    return endings.app(await PortClient.open(opened));
  }

  /** A process, and another one that no fault affects. */
  async function scene() {
    const store = new AwayStore();
    return { store, client: await open(store), other: await open(store.inside) };
  }

  it('B65: an owner served in this process is cancelled when the store is back, and never gets the local lock', async () => {
    const { store, client, other } = await scene();
    await goLocal(client, store);
    const [holder, queued] = [client.newOwner(), client.newOwner()];
    expect(await client.acquire('key', holder)).toMatchObject(LOCAL_GRANT);
    expect(await client.acquire('key', queued, waiting)).toMatchObject({ outcome: 'queued' });
    await comeBack(client, store);
    expect(await client.acquire('key', client.newOwner(), waiting)).toMatchObject({ outcome: 'queued' });
    expect(await client.release('key', holder)).toBe('released');
    const token = await client.take('key', client.newOwner());
    expect(await client.acquire('key', queued, waiting)).toEqual({ outcome: 'cancelled' });
    await client.cancel('key', queued);
    expect(client.grants).toEqual([]);
    expect((await other.inspect('key'))?.token).toBe(token);
  });

  it('B65: a grant of the store is released if the lock was acquired in this process meanwhile', async () => {
    const { store, client, other } = await scene();
    let resume: () => void = () => undefined;
    store.gate = new Promise((resolve) => (resume = resolve));
    const late = client.newOwner();
    const answer = client.acquire('key', late, waiting);
    store.gate = undefined;
    await goLocal(client, store);
    const holder = client.newOwner();
    expect(await client.acquire('key', holder)).toMatchObject({ local: true });
    expect(await stateOf(answer)).toBe('pending');
    store.fault = (kind) => (kind === 'inspect' ? 'not sent' : undefined);
    resume();
    expect(await answer).toMatchObject({ outcome: 'queued' });
    await comeBack(client, store);
    await until('it is released', async () => (await other.inspect('key')) === null);
    expect(await client.renew({ key: 'key', owner: holder, lease: 5_000 })).toEqual(['renewed']);
  });

  it('B65: a grant pushed to an owner that this process serves by now is released', async () => {
    const { store, client, other } = await scene();
    const [holder, queued] = [other.newOwner(), client.newOwner()];
    await other.take('key', holder);
    expect(await client.acquire('key', queued, waiting)).toMatchObject({ outcome: 'queued' });
    await goLocal(client, store);
    expect(await client.acquire('key', queued, waiting)).toMatchObject(LOCAL_GRANT);
    // Only the probe of the store fails from now on.
    store.fault = (kind) => (kind === 'inspect' ? 'not sent' : undefined);
    await other.release('key', holder);
    expect((await other.inspect('key'))?.owner).toBe(queued);
    expect(client.grants).toEqual([]);
    await comeBack(client, store);
    await until('it is released', async () => (await other.inspect('key')) === null);
    expect(await client.renew({ key: 'key', owner: queued, lease: 5_000 })).toEqual(['renewed']);
  });

  it('B65: a grant pushed to an owner that has been withdrawn is not recorded', async () => {
    const { store, client, other } = await scene();
    const [holder, queued] = [other.newOwner(), client.newOwner()];
    await other.take('key', holder);
    expect(await client.acquire('key', queued, waiting)).toMatchObject({ outcome: 'queued' });
    store.fault = (kind) => (kind === 'cancel' ? 'not sent' : undefined);
    await rejectionOf(client.cancel('key', queued));
    await other.release('key', holder);
    expect(client.grants).toEqual([]);
    await goLocal(client, store);
    expect(await client.acquire('key', client.newOwner())).toMatchObject(LOCAL_GRANT);
  });

  it('B65: a grant pushed while this process holds the lock is released', async () => {
    const { store, client, other } = await scene();
    const [holder, queued, local] = [other.newOwner(), client.newOwner(), client.newOwner()];
    await other.take('key', holder);
    expect(await client.acquire('key', queued, waiting)).toMatchObject({ outcome: 'queued' });
    await goLocal(client, store);
    expect(await client.acquire('key', local)).toMatchObject(LOCAL_GRANT);
    store.fault = (kind) => (kind === 'inspect' ? 'not sent' : undefined);
    await other.release('key', holder);
    expect((await other.inspect('key'))?.owner).toBe(queued);
    await comeBack(client, store);
    await until('it is released', async () => (await other.inspect('key')) === null);
    expect(client.grants).toEqual([]);
  });

  it('B65: a pushed local hold continues when the store is back', async () => {
    const { store, client } = await scene();
    await goLocal(client, store);
    const [holder, queued] = [client.newOwner(), client.newOwner()];
    await client.acquire('key', holder);
    await client.acquire('key', queued, waiting);
    await client.release('key', holder);
    expect(await client.granted(queued)).toMatchObject({ local: true });
    await comeBack(client, store);
    expect(await client.renew({ key: 'key', owner: queued, lease: 5_000 })).toEqual(['renewed']);
  });

  it('B65: a local grant that came too late is pushed again at its next turn', async () => {
    const { store, client } = await scene();
    await goLocal(client, store);
    const [first, queued, second] = [client.newOwner(), client.newOwner(), client.newOwner()];
    await client.acquire('key', first);
    await client.acquire('key', queued, { wait: true, claimLease: 30 });
    await client.release('key', first);
    await client.granted(queued);
    await until('it has expired', async () => (await client.inspect('key')) === null);
    await client.acquire('key', second);
    expect(await client.acquire('key', queued, waiting)).toMatchObject({ outcome: 'queued' });
    await client.release('key', second);
    await until('it is pushed again', () => client.grants.length === 2);
  });

  it('B65: neither a hold that the store no longer has nor an unused one excludes a caller', async () => {
    const { store, client, other } = await scene();
    const [gone, queued, holder] = [client.newOwner(), client.newOwner(), other.newOwner()];
    await client.take('gone', gone);
    await other.forceRelease('gone');
    expect(await client.renew({ key: 'gone', owner: gone, lease: 5_000 })).toEqual(['gone']);
    await other.take('unused', holder);
    await client.acquire('unused', queued, waiting);
    await other.release('unused', holder);
    await client.granted(queued);
    await goLocal(client, store);
    expect(await client.acquire('gone', client.newOwner())).toMatchObject({ outcome: 'granted' });
    // For example pushed too late to be used, and requested again.
    expect(await client.acquire('unused', queued, waiting)).toMatchObject(LOCAL_GRANT);
    await client.release('unused', queued);
    expect(await client.acquire('unused', client.newOwner())).toMatchObject({ outcome: 'granted' });
  });

  it('B65: a hold of the store that is renewed meanwhile still excludes local callers', async () => {
    const { store, client } = await scene();
    const owner = client.newOwner();
    await client.take('key', owner, 1_000);
    await goLocal(client, store);
    const queued = client.newOwner();
    expect(await client.acquire('key', queued, waiting)).toMatchObject({ outcome: 'queued' });
    // A part of the store is still reachable.
    store.fault = (kind) => (kind === 'renew' ? undefined : 'not sent');
    expect(await client.renew({ key: 'key', owner, lease: 1_500 })).toEqual(['renewed']);
    await elapse(600);
    expect(await client.acquire('key', queued, waiting)).toMatchObject({ outcome: 'queued' });
    expect(client.grants).toEqual([]);
    await elapse(1_000);
    expect(await client.acquire('key', queued, waiting)).toMatchObject(LOCAL_GRANT);
  });

  it('B65: local readers join a reader of the store, and writers do not', async () => {
    const { store, client } = await scene();
    const shared = { limit: Infinity };
    const [known, joining] = [client.newOwner(), client.newOwner()];
    await client.acquire('key', known, { ...shared, label: 'from the store' });
    await goLocal(client, store);
    expect(await client.acquire('key', client.newOwner())).toMatchObject({ outcome: 'busy' });
    const reply = await client.acquire('key', joining, { ...shared, label: 'from here' });
    expect(reply).toMatchObject(LOCAL_GRANT);
    expect(await client.lockOf('key')).toMatchObject({
      limit: Infinity,
      holders: [
        { owner: known, label: 'from the store' },
        { owner: joining, label: 'from here' },
      ],
    });
    const semaphore = await client.acquire('key', client.newOwner(), { limit: 2, wait: true });
    expect(semaphore).toEqual({ outcome: 'conflict', limit: Infinity });
    const writer = client.newOwner();
    expect(await client.acquire('key', writer, waiting)).toMatchObject({ outcome: 'queued' });
    await client.release('key', joining);
    expect(client.grants).toEqual([]);
    await rejectionOf(client.release('key', known));
    expect(await client.granted(writer)).toMatchObject({ local: true });
  });

  it('B65: permits that the process holds in the store count locally, including pushed ones', async () => {
    const { store, client, other } = await scene();
    const two = { limit: 2 };
    const [first, second, third] = [client.newOwner(), client.newOwner(), client.newOwner()];
    const theirs = other.newOwner();
    await other.acquire('key', theirs, two);
    await client.acquire('key', first, two);
    await client.acquire('key', second, { ...two, wait: true });
    await other.release('key', theirs);
    await client.granted(second);
    await goLocal(client, store);
    expect(await client.acquire('key', third, two)).toMatchObject({ outcome: 'busy' });
    await rejectionOf(client.release('key', first));
    expect(await client.acquire('key', third, two)).toMatchObject(LOCAL_GRANT);
    expect(await client.acquire('key', client.newOwner(), two)).toMatchObject({ outcome: 'busy' });
  });

  it('B65: while local readers continue after the return, the store serves other readers only', async () => {
    const { store, client } = await scene();
    const shared = { limit: Infinity };
    await goLocal(client, store);
    const holder = client.newOwner();
    expect(await client.acquire('key', holder, shared)).toMatchObject({ local: true });
    await comeBack(client, store);
    const beside = client.newOwner();
    const reply = await client.acquire('key', beside, shared);
    expect(reply).toMatchObject({ outcome: 'granted' });
    expect(reply).not.toHaveProperty('local', true);
    expect(await client.acquire('other', client.newOwner(), { limit: 2 })).toMatchObject({
      outcome: 'granted',
    });
    expect(await client.acquire('key', client.newOwner())).toMatchObject({ outcome: 'busy' });
    expect(await client.acquire('key', client.newOwner(), { limit: 2 })).toMatchObject({ outcome: 'busy' });
    // The local hold is shown only while the store has none.
    const holders = async (): Promise<unknown> =>
      (await client.lockOf('key'))?.holders.map(({ owner }) => owner);
    expect(await holders()).toEqual([beside]);
    await client.release('key', beside);
    expect(await holders()).toEqual([holder]);
    expect(await client.release('key', holder)).toBe('released');
    expect(await holders()).toBeUndefined();
  });

  it('B65: a caller still gives the store time to recover when only messages are back', async () => {
    const { store, client } = await scene();
    store.goAway();
    const reply = client.acquire('key', client.newOwner());
    await elapse(0);
    store.messagesAreBack();
    await elapse(0);
    expect(await stateOf(reply)).toBe('pending');
    store.comeBack();
    expect(await reply).not.toHaveProperty('local', true);
  });

  it('B65: a hold with an exact end excludes no caller after it', async () => {
    const { store, client } = await scene();
    const owner = client.newOwner();
    await client.take('key', owner);
    expect(await client.renew({ key: 'key', owner, lease: 1_000, exactly: true })).toEqual(['renewed']);
    await goLocal(client, store);
    expect(await client.acquire('key', client.newOwner())).toMatchObject({ outcome: 'busy' });
    await until('it has expired', async () => {
      return (await client.acquire('key', client.newOwner())).outcome === 'granted';
    });
  });

  it('B65, B16: tokens of this process are larger than those it received from the store', async () => {
    const store = new AwayStore();
    const ahead = 10 ** 13;
    const client = await open(
      Object.assign(store, {
        open: (inner: Parameters<AwayStore['open']>[0]) => {
          const session = AwayStore.prototype.open.call(store, inner);
          const { acquire } = session;
          return Object.assign(session, {
            ask: async (request: Parameters<typeof acquire>[0]) => {
              const reply = await acquire(request);
              // The clock of the store is ahead.
              return reply.outcome === 'granted' ? { ...reply, token: reply.token + ahead } : reply;
            },
          });
        },
      }),
    );
    const owner = client.newOwner();
    const token = await client.take('key', owner);
    await client.release('key', owner);
    await goLocal(client, store);
    expect(await client.take('key', client.newOwner())).toBeGreaterThan(token);
  });

  it('F71, B16: the store is not used before its tokens are larger than those of local holds', async () => {
    const { store, client } = await scene();
    await goLocal(client, store);
    const owner = client.newOwner();
    await client.take('key', owner);
    await client.release('key', owner);
    store.comeBack();
    store.fault = (kind) => (kind === 'raise' ? 'no answer' : undefined);
    const { raise } = store.asked;
    await until('the raise is repeated', () => (store.asked.raise ?? 0) > (raise ?? 0) + 1);
    expect(await client.acquire('key', owner)).toMatchObject(LOCAL_GRANT);
    await client.release('key', owner);
    await comeBack(client, store);
  });

  it('F71: a store that refuses to raise its tokens is used nevertheless', async () => {
    const { store, client } = await scene();
    await goLocal(client, store);
    store.comeBack();
    const refusal = new LockStoreError('NOPERM', { inDoubt: false, retryable: false });
    store.fault = (kind) => (kind === 'raise' ? refusal : undefined);
    await until('the store is used', async () => {
      const reply = await client.acquire('key', client.newOwner());
      return reply.outcome === 'busy' || (reply.outcome === 'granted' && reply.local !== true);
    });
  });

  it('B65, P32: a single attempt without a reply stays in doubt when the store is back: the engine withdraws it', async () => {
    const { store, client } = await scene();
    store.failNextAsks(1);
    const error = await rejectionOf(client.acquire('key', client.newOwner()));
    expect(error).toMatchObject({ inDoubt: true, unreachable: true });
    expect(store.asked).toMatchObject({ acquire: 1, inspect: 2 });
  });

  it('B65: renewals that all fail do not count as a reply', async () => {
    const store = new AwayStore();
    const away = new LockStoreError('no server', {
      inDoubt: false,
      retryable: true,
      unreachable: true,
    });
    const client = await open(
      Object.assign(store, {
        open: (inner: Parameters<AwayStore['open']>[0]) =>
          Object.assign(AwayStore.prototype.open.call(store, inner), {
            renew: () => Promise.resolve([away]),
          }),
      }),
    );
    store.goAway();
    const owner = client.newOwner();
    expect(await rejectionOf(client.acquire('key', owner, waiting))).toMatchObject({ unreachable: true });
    await elapse(520);
    expect(await client.renewAll({ key: 'other', owner, lease: 5_000 })).toEqual([away]);
    expect(await client.acquire('key', owner, waiting)).toMatchObject(LOCAL_GRANT);
  });

  it('B65: one reply for each renewal, in order, even if the store is unreachable', async () => {
    const { store, client } = await scene();
    const [stored, local] = [client.newOwner(), client.newOwner()];
    await client.take('stored', stored);
    await goLocal(client, store);
    await client.take('local', local);
    const [first, second, third] = await client.renewAll(
      { key: 'local', owner: local, lease: 5_000 },
      { key: 'stored', owner: stored, lease: 5_000 },
      { key: 'gone', owner: local, lease: 5_000 },
    );
    expect([first, third]).toEqual(['renewed', 'gone']);
    expect(second).toMatchObject({ unreachable: true });
  });
});
