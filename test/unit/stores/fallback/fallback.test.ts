import { describe, expect, it } from '@jest/globals';
import { LockUnavailableError } from '../../../../lib/index.js';
import { LockStoreError } from '../../../../lib/stores/port/index.js';
import { FallbackLockStore } from '../../../../lib/stores/fallback/fallback-lock-store.js';
import { AwayStore } from '../../../support/away-store.js';
import { idleClient } from '../../../support/idle-client.js';
import { inVirtualTime } from '../../../support/in-virtual-time.js';
import { type LockApp, lockApps, queuedIn } from '../../../support/lock-app.js';
import { elapse, next, rejectionOf, until, within } from '../../../support/until.js';

inVirtualTime();

const patient = { waitTime: 10_000 };

describe('local locks while the store is unreachable', () => {
  const startApp = lockApps({ shutdownTimeout: 0 });
  const start = (store: AwayStore, watchdogTimeout = 5_000) =>
    startApp({ store, onUnavailable: 'local', watchdogTimeout });

  /** Another process on the store, which no fault affects. */
  const neighbour = (store: AwayStore) => startApp({ store: store.inside });

  /** Resolves when the application acquires locks in the process, or in the store again. */
  function change(app: LockApp, local: boolean): Promise<unknown> {
    const isReported = app.events('local').some((event) => event.local === local);
    return isReported
      ? Promise.resolve()
      : next(app.locks.events, (event) => event.type === 'local' && event.local === local);
  }

  async function goLocal(app: LockApp, store: AwayStore): Promise<void> {
    store.goAway();
    await (await app.locks.acquire('probe', patient)).release();
  }

  async function comeBack(app: LockApp, store: AwayStore): Promise<void> {
    const back = change(app, false);
    store.comeBack();
    await back;
  }

  const warnings = (app: LockApp): readonly string[] =>
    app.log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);

  it('B65: the handle, one event and one log line report each change', async () => {
    const store = new AwayStore();
    const app = await start(store);
    const before = await app.locks.acquire('before');
    expect(before.local).toBe(false);
    await before.release();
    store.goAway();
    const handles = await Promise.all(['a', 'b', 'c'].map((key) => app.locks.acquire(key, patient)));
    expect(handles.map(({ local }) => local)).toEqual([true, true, true]);
    expect(app.events('local')).toEqual([
      { type: 'local', at: expect.any(Number), local: true, error: expect.any(LockStoreError) },
    ]);
    expect(warnings(app)).toEqual([
      'Locks are acquired in this process only: no connection. Other processes are not excluded until a store that goes away is reachable again.',
    ]);
    await Promise.all(handles.map((handle) => handle.release()));
    const asked = store.asked.acquire;
    await app.locks.withLock('d', (lock) =>
      app.locks.withLock('d', (inner) => expect([lock.local, inner.local]).toEqual([true, true])),
    );
    expect(store.asked.acquire).toBe(asked);

    await comeBack(app, store);
    expect(app.events('local').slice(1)).toEqual([
      { type: 'local', at: expect.any(Number), local: false, error: undefined },
    ]);
    expect(app.log.matching('Locks are acquired in')).toHaveLength(2);
    expect(app.log.matching('Locks are acquired in a store that goes away again.')).toHaveLength(1);
    expect(app.log.matching('be acquired')).toEqual([]);
    // The end is as prominent as the beginning.
    expect(warnings(app)).toHaveLength(2);
    await app.locks.withLock('e', (lock) => expect(lock.local).toBe(false));
  });

  it('B65: many requests that fail together are one failure', async () => {
    const store = new AwayStore();
    const app = await start(store);
    let open: () => void = () => undefined;
    store.gate = new Promise((resolve) => (open = resolve));
    const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`);
    const waits = keys.map((key) => app.locks.acquire(key, patient));
    await until('all requests are sent', () => store.asked.acquire === 20);
    // Longer than the grace time: they count as one failure for another reason.
    await elapse(550);
    store.failNextAsks(20);
    store.gate = undefined;
    open();
    for (const handle of await Promise.all(waits)) expect(handle.local).toBe(false);
    expect(app.events('local')).toEqual([]);
  });

  it('B65: a rejection by the store, and an error without a reason, are no outage', async () => {
    const store = new AwayStore();
    const app = await start(store);
    for (const error of [
      new LockStoreError('OOM', { inDoubt: false, retryable: true }),
      new LockStoreError('NOPERM', { inDoubt: false, retryable: false }),
      new Error('socket hang up'),
    ]) {
      store.goAway(error);
      expect(await rejectionOf(app.locks.acquire('key', { waitTime: 400 }))).toBeInstanceOf(
        LockUnavailableError,
      );
      expect(await rejectionOf(app.locks.tryAcquire('key'))).toBeInstanceOf(LockUnavailableError);
    }
    expect(app.events('local')).toEqual([]);
  });

  it('B65: a part of the store that is away, such as a primary of a cluster, makes the locks of all keys local', async () => {
    const store = new AwayStore();
    const app = await start(store);
    store.fault = (_kind, key) => (key === 'on-the-dead-primary' ? 'not sent' : undefined);
    const one = await app.locks.acquire('on-the-dead-primary', patient);
    const other = await app.locks.acquire('on-another-primary', patient);
    expect([one.local, other.local]).toEqual([true, true]);
    await comeBack(app, store);
    await app.locks.withLock('on-a-third', (lock) => expect(lock.local).toBe(false));
  });

  it('B65: a local hold is not handed over after the store is back', async () => {
    const store = new AwayStore();
    const app = await start(store);
    await goLocal(app, store);
    const local = await app.locks.acquire('key', patient);
    const waiting = app.locks.acquire('key', patient);
    await comeBack(app, store);
    // At once: within the turn of local hand-overs.
    await local.release();
    expect((await waiting).local).toBe(false);
  });

  it('B65: a store that reports twice counts once', async () => {
    const store = new AwayStore();
    const app = await start(store);
    const error = new LockStoreError('away', { inDoubt: false, retryable: true, unreachable: true });
    for (const local of [true, true, false, false]) store.tellLocal(local, local ? error : undefined);
    expect(app.events('local').map(({ local }) => local)).toEqual([true, false]);
    expect(warnings(app)).toHaveLength(2);
  });

  it('B65: waiters in the store wait locally during an outage', async () => {
    const store = new AwayStore();
    const app = await start(store);
    const other = await neighbour(store);
    const held = await other.locks.acquire('key');
    const waiting = app.locks.acquire('key', patient);
    await queuedIn(app, 'key');
    await goLocal(app, store);
    const local = await within(500, 'the lock of this process', waiting);
    expect(local.local).toBe(true);
    await comeBack(app, store);
    await until(
      'the queue position in the store is gone',
      async () => (await other.admin.inspect('key'))?.waiting === 0,
    );
    expect(held.isHeld).toBe(true);
    expect(local.isHeld).toBe(true);
  });

  it('B65: a local hold can be broken after the return', async () => {
    const store = new AwayStore();
    const app = await start(store);
    await goLocal(app, store);
    const local = await app.locks.acquire('key', patient);
    await comeBack(app, store);
    expect(await app.admin.forceRelease('key')).toBe(true);
    await until('it is lost', () => !local.isHeld);
    expect(await app.admin.forceRelease('key')).toBe(false);
  });

  it('F70: forceRelease ends the hold of this process in the store, and not that of the next waiter', async () => {
    const store = new AwayStore();
    const app = await start(store);
    const other = await neighbour(store);
    const held = await app.locks.acquire('key');
    const waiting = other.locks.acquire('key', patient);
    await queuedIn(other, 'key');
    expect(await app.admin.forceRelease('key')).toBe(true);
    expect(held.isHeld).toBe(false);
    const next = await waiting;
    // The next renewal would notice a loss.
    await elapse(6_000);
    expect(other.events('lost')).toEqual([]);
    expect(await next.release()).toBe('released');
  });

  it.each(['at once', 'after the switch to local locks'])(
    'F70: forceRelease and breakHold fail while the store is unreachable, and change nothing: %s',
    async (when) => {
      const store = new AwayStore();
      const app = await start(store);
      const [exclusive, reader] = [
        await app.locks.acquire('key'),
        await app.locks.acquire('read', { mode: 'shared' }),
      ];
      if (when === 'at once') store.goAway();
      else await goLocal(app, store);
      for (const { key, token } of [exclusive, reader]) {
        expect(await rejectionOf(app.admin.forceRelease(key))).toBeInstanceOf(LockUnavailableError);
        expect(await rejectionOf(app.admin.breakHold(key, { token }))).toBeInstanceOf(LockUnavailableError);
      }
      expect([exclusive.isHeld, reader.isHeld]).toEqual([true, true]);
      store.comeBack();
      await until(
        'the store is used',
        async () => !(await app.locks.withLock('probe', ({ local }) => local)),
      );
      expect(app.events('lost')).toEqual([]);
      expect([await exclusive.release(), await reader.release()]).toEqual(['released', 'released']);
    },
  );

  it('F70: breakHold ends the named one of local holds; a hold in the store keeps its token during the outage', async () => {
    const store = new AwayStore();
    const app = await start(store);
    const shared = { mode: 'shared', ...patient } as const;
    const stored = await app.locks.acquire('key', shared);
    await goLocal(app, store);
    const [first, second] = [await app.locks.acquire('key', shared), await app.locks.acquire('key', shared)];
    const tokens = (await app.admin.inspect('key'))?.holders.map(({ token }) => token) ?? [];
    expect(tokens).toContain(stored.token);
    expect(tokens).toContain(first.token);
    const { token } = second.token === first.token ? stored : second;
    expect(await app.admin.breakHold('key', { token })).toBe('broken');
    expect([stored.isHeld, first.isHeld, second.isHeld]).toEqual([true, true, false]);
  });

  it('B65: a remaining lease is an upper bound where the store reports it as one', async () => {
    const store = new AwayStore();
    const open: AwayStore['open'] = (client) => Object.assign(store.open(client), { remainingIsBound: true });
    const app = await startApp({ store: { name: 'bounded', open }, onUnavailable: 'local' });
    const other = await neighbour(store);
    await other.locks.acquire('key');
    expect(await app.admin.inspect('key')).toMatchObject({ remainingIsBound: true });
    expect(await rejectionOf(app.locks.acquire('key', { waitTime: 0 }))).toMatchObject({
      remainingIsBound: true,
    });
  });

  it('B65, B14: no request is sent after the application has ended', async () => {
    const store = new AwayStore();
    const app = await start(store);
    await goLocal(app, store);
    const held = app.locks.tryAcquire('in doubt');
    await held;
    await app.close();
    const { inspect } = store.asked;
    await elapse(1_300);
    expect(store.asked.inspect).toBe(inspect);
  });

  it('B65: a store without reserve has none with a fallback either', () => {
    const store = new AwayStore();
    const open = (name: 'with' | 'without'): boolean => {
      const fallback = new FallbackLockStore({
        name,
        open: (client) => {
          const { reserve, ...session } = store.open(client);
          return name === 'with' && reserve ? { ...session, reserve } : session;
        },
      });
      return fallback.open(idleClient).reserve !== undefined;
    };
    expect([open('with'), open('without')]).toEqual([true, false]);
  });
});
