import { afterEach, describe, expect, it } from '@jest/globals';
import { LockService } from '../../../lib/api/lock.service.js';
import { LockEngine } from '../../../lib/engine/lock-engine.js';
import { LockUnavailableError, MemoryLockStore, type LockKey, type LockOptions } from '../../../lib/index.js';
import type { LockStore } from '../../../lib/stores/port/index.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { rejectionOf, stateOf, within } from '../../support/until.js';

inVirtualTime();

/** A store that connects when the test calls `connected`. */
class ConnectingStore implements LockStore {
  readonly name = 'a store that connects for long';
  private readonly memory = new MemoryLockStore();
  private connected: (() => void) | undefined;

  connect(): void {
    this.connected?.();
  }

  readonly open: LockStore['open'] = (client) => {
    const session = this.memory.open(client);
    const start = (): Promise<void> => new Promise((resolve) => (this.connected = resolve));
    return Object.assign(session, { start });
  };
}

describe('B10: a call before the first connection', () => {
  const engines: { readonly engine: LockEngine; readonly store: ConnectingStore }[] = [];
  afterEach(async () => {
    for (const { engine, store } of engines.splice(0)) {
      store.connect();
      await engine.close();
    }
  });

  function scene() {
    const store = new ConnectingStore();
    const silent = { log: () => undefined, warn: () => undefined };
    const engine = new LockEngine(store, { watchdogTimeout: 30_000, shutdownTimeout: 0 }, silent);
    engines.push({ engine, store });
    const locks = new LockService(engine, 5_000);
    const acquire = (key: LockKey, options: LockOptions) => locks.acquire(key, options);
    return { store, acquire };
  }

  const kinds: readonly (readonly [string, LockKey])[] = [
    ['one key', 'a'],
    ['several keys', ['a', 'b']],
  ];

  it.each(kinds)('for %s ends when its waitTime ends', async (_, key) => {
    const { acquire } = scene();
    const startedAt = performance.now();
    const error = await within(2_000, 'the end of waitTime', rejectionOf(acquire(key, { waitTime: 1_000 })));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(performance.now() - startedAt).toBeLessThan(1_500);
  });

  it.each(kinds)('for %s ends when its signal is aborted', async (_, key) => {
    const { acquire } = scene();
    const reason = new Error('the client is gone');
    for (const waitTime of [0, 60_000, Infinity]) {
      const aborted = new AbortController();
      const call = rejectionOf(acquire(key, { waitTime, signal: aborted.signal }));
      expect(await stateOf(call)).toBe('pending');
      aborted.abort(reason);
      expect(await within(1_000, 'the end by the signal', call)).toBe(reason);
    }
  });

  it.each(kinds)('for %s acquires the lock if the connection is made in time', async (_, key) => {
    const { acquire, store } = scene();
    const calls = [0, 60_000, Infinity].map((waitTime, index) =>
      acquire(
        [key].flat().map((each) => `${each}${String(index)}`),
        { waitTime },
      ),
    );
    expect(await Promise.all(calls.map(stateOf))).toEqual(['pending', 'pending', 'pending']);
    store.connect();
    for (const handle of await Promise.all(calls)) expect(await handle.release()).toBe('released');
  });
});
