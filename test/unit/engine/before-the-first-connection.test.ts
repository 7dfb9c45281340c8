import { afterEach, describe, expect, it } from '@jest/globals';
import { LockService } from '../../../lib/api/lock.service.js';
import type { LockEngine } from '../../../lib/engine/lock-engine.js';
import { LockUnavailableError, type LockKey, type LockOptions } from '../../../lib/index.js';
import { changedStore } from '../../support/changed-store.js';
import { engineOn } from '../../support/engines.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { rejectionOf, stateOf, within } from '../../support/until.js';

inVirtualTime();

describe('B10: a call before the first connection', () => {
  const engines: { readonly engine: LockEngine; readonly connect: () => void }[] = [];
  afterEach(async () => {
    for (const { engine, connect } of engines.splice(0)) {
      connect();
      await engine.close();
    }
  });

  /** A store that connects when the test calls `connect`. */
  function scene() {
    let connect = (): void => undefined;
    const connection = new Promise<void>((resolve) => (connect = resolve));
    const engine = engineOn(changedStore(() => ({ start: () => connection })));
    engines.push({ engine, connect });
    const locks = new LockService(engine, 5_000);
    const acquire = (key: LockKey, options: LockOptions) => locks.acquire(key, options);
    return { acquire, connect };
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
    const { acquire, connect } = scene();
    const calls = [0, 60_000, Infinity].map((waitTime, index) =>
      acquire(
        [key].flat().map((each) => `${each}${String(index)}`),
        { waitTime },
      ),
    );
    expect(await Promise.all(calls.map(stateOf))).toEqual(['pending', 'pending', 'pending']);
    connect();
    for (const handle of await Promise.all(calls)) expect(await handle.release()).toBe('released');
  });
});
