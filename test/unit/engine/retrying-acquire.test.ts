import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { LockEngine } from '../../../lib/engine/lock-engine.js';
import { backoff, MemoryLockStore, type LockOptions } from '../../../lib/index.js';
import { resolveLockOptions } from '../../../lib/model/lock.options.js';
import type { OwnerId } from '../../../lib/stores/port/index.js';
import { engineOn, fakeClock } from '../../support/engines.js';
import { SpiedStore } from '../../support/spied-store.js';

describe('the pauses of a call with retry', () => {
  let store: SpiedStore;
  let engine: LockEngine;
  let triedAt: number[];
  let start: number;

  beforeEach(async () => {
    jest.useFakeTimers();
    store = new SpiedStore(new MemoryLockStore());
    engine = engineOn(store, {}, fakeClock);
    await engine.start();
    // Held by another owner: a hold of this engine would have its own timer.
    await engine.session.acquire({
      key: 'k',
      owner: 'another:1' as OwnerId,
      lease: 2 ** 30,
      claimLease: 1,
      wait: false,
      callers: 1,
      tokens: 1,
      contended: false,
      limit: 1,
      permits: 1,
      label: undefined,
    });
    triedAt = [];
    start = performance.now();
    store.twist = () => {
      triedAt.push(Math.round(performance.now() - start));
      return undefined;
    };
  });
  afterEach(async () => {
    await engine.close();
    jest.useRealTimers();
  });

  /** `ended` is the message of its error, or undefined while the call is pending. */
  const outcomeOf = (options: LockOptions): { ended: string | undefined } => {
    const outcome: { ended: string | undefined } = { ended: undefined };
    const got = engine.acquire('k', resolveLockOptions('a test', options, 10_000));
    got.catch((error: unknown) => (outcome.ended = String(error)));
    return outcome;
  };

  it('are those of the backoff', async () => {
    outcomeOf({ retry: { maxAttempts: 6, backoff: backoff.exponential({ min: 100, max: 500, jitter: 0 }) } });
    await jest.advanceTimersByTimeAsync(5_000);
    expect(triedAt).toEqual([0, 100, 300, 700, 1_200, 1_700]);
  });

  it('B14: leave nothing behind after an abort or the last attempt', async () => {
    const abort = new AbortController();
    const retry = { backoff: backoff.fixed(100) };
    const aborted = outcomeOf({ retry, signal: abort.signal, waitTime: Infinity });
    outcomeOf({ retry: { ...retry, maxAttempts: 2 } });
    await jest.advanceTimersByTimeAsync(100);
    // Its pause, and the warning of a long wait.
    expect(engine.timers.size).toBe(2);
    abort.abort('enough');
    await jest.advanceTimersByTimeAsync(0);
    expect(engine.timers.size).toBe(0);
    expect(aborted.ended).toBe('enough');
    expect(jest.getTimerCount()).toBe(0);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(triedAt).toEqual([0, 0, 100, 100]);
  });
});
