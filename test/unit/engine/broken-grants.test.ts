import { describe, expect, it } from '@jest/globals';
import { lineUp, patient } from '../../support/hand-over.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { LockApp, lockApps } from '../../support/lock-app.js';
import { doubt, granted, queued, ScriptedStore } from '../../support/scripted-store.js';
import { blockEventLoop, stateOf, within } from '../../support/until.js';

inVirtualTime();

describe('grants that were broken by force', () => {
  const startApp = lockApps({ shutdownTimeout: 0 });

  async function start(): Promise<{ store: ScriptedStore; app: LockApp }> {
    const store = new ScriptedStore();
    return { store, app: await startApp({ store }) };
  }

  it('B23: a pushed grant that is broken before it could be used is not used', async () => {
    const { store, app } = await start();
    const waiting = app.locks.acquire('key', patient);
    const first = await store.request(0);
    store.push(first.owner, 1);
    store.client?.broken(first.owner);
    first.answer(queued);
    // The caller requests the lock again.
    const second = await store.request(1);
    expect(await stateOf(waiting)).toBe('pending');
    second.answer(granted(2));
    const handle = await within(1_000, 'the lock', waiting);
    expect(handle.token).toBe(2);
    await handle.release();
  });

  it('B23: a reply with a grant that is already broken is ignored', async () => {
    for (const leaseTime of [undefined, 5_000]) {
      const { store, app } = await start();
      const waiting = app.locks.acquire('key', { ...patient, leaseTime });
      const first = await store.request(0);
      store.client?.broken(first.owner);
      first.answer(granted(1));
      const second = await store.request(1);
      expect(second.owner).not.toBe(first.owner);
      expect(store.cancelled.map(({ owner }) => owner)).toEqual([first.owner]);
      second.answer(granted(2));
      const handle = await within(1_000, 'the lock', waiting);
      expect(handle.token).toBe(2);
      await handle.release();
    }
  });

  it('B23: a grant after the broken one is accepted', async () => {
    for (const how of ['queued', 'failed'] as const) {
      const { store, app } = await start();
      const waiting = app.locks.acquire('key', patient);
      const first = await store.request(0);
      store.client?.broken(first.owner);
      if (how === 'queued') first.answer(queued);
      else first.fail(doubt());
      const second = await store.request(1);
      expect(second.owner).toBe(first.owner);
      second.answer(granted(2));
      const handle = await within(1_000, 'the lock', waiting);
      expect(handle.token).toBe(2);
      expect(store.cancelled).toEqual([]);
      await handle.release();
    }
  });

  it('P34: a hold broken by force is still released', async () => {
    const { store, app } = await start();
    const waiting = app.locks.acquire('key', patient);
    const { owner, answer } = await store.request(0);
    answer(granted(1));
    const handle = await waiting;
    store.client?.broken(owner);
    expect(handle.isHeld).toBe(false);
    expect(store.released.map((request) => request.owner)).toEqual([owner]);
  });

  it('P32, P34: a hold in doubt superseded by another grant is released with a tombstone', async () => {
    const { store, app } = await start();
    const first = app.locks.acquire('key', patient);
    (await store.request(0)).fail(doubt());
    const { owner, answer } = await store.request(1);
    answer(granted(1));
    const handle = await first;
    const next = app.locks.acquire('key', patient);
    (await store.request(2)).answer(granted(2));
    const second = await within(1_000, 'the next hold', next);
    expect(handle.isHeld).toBe(false);
    expect(store.released).toEqual([expect.objectContaining({ owner, inDoubt: true })]);
    await second.release();
  });
});

describe('a slow listener', () => {
  it('B17, P20: does not cause a hand-over after the end of the lease', async () => {
    const app = await LockApp.start({ store: 'memory', watchdogTimeout: 300, shutdownTimeout: 0 });
    try {
      const { first, waits } = await lineUp(app, 'key');
      let blocked = false;
      app.locks.events.subscribe(({ type }) => {
        if (type !== 'released' || blocked) return;
        blocked = true;
        blockEventLoop(350);
      });
      await first.release();
      const second = await within(2_000, 'the next waiter', waits[0] ?? Promise.reject(new Error()));
      expect(second.isHeld).toBe(true);
      await second.release();
    } finally {
      await app.close();
    }
  });
});
