import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Clock } from '../../../lib/common/clock.js';
import type { Hold } from '../../../lib/engine/holds/hold.js';
import { LockEngine } from '../../../lib/engine/lock-engine.js';
import { backoff, type Backoff, MemoryLockStore } from '../../../lib/index.js';
import type { MonotonicMs, OwnerId, WallClockMs } from '../../../lib/stores/port/index.js';
import { SpiedStore } from '../../support/spied-store.js';

const clock: Clock = {
  monotonic: () => performance.now() as MonotonicMs,
  wall: () => Date.now() as WallClockMs,
};
const silent = { log: () => undefined, warn: () => undefined };
const settings = { watchdogTimeout: 30_000, shutdownTimeout: 0 };

interface LockSpec {
  readonly waitTime?: number;
  readonly maxAttempts?: number;
  readonly backoff?: Backoff;
  readonly signal?: AbortSignal;
}

describe('the pauses of a call with retry', () => {
  let store: SpiedStore;
  let engine: LockEngine;
  let triedAt: number[];
  let start: number;

  beforeEach(async () => {
    jest.useFakeTimers();
    store = new SpiedStore(new MemoryLockStore());
    engine = new LockEngine(store, settings, silent, clock);
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
  const outcomeOf = (spec: LockSpec): { ended: string | undefined } => {
    const { waitTime = 10_000, maxAttempts = Infinity, backoff: pauses = backoff.fixed(100), signal } = spec;
    const outcome: { ended: string | undefined } = { ended: undefined };
    const got: Promise<Hold> = engine.acquire('k', {
      waitTime,
      maxWaiting: Infinity,
      leaseTime: undefined,
      signal,
      onLost: 'report',
      fair: false,
      reentrant: true,
      retry: { maxAttempts, backoff: pauses },
      limit: 1,
      permits: 1,
      holdAtLeast: 0,
      label: undefined,
      operation: 'default',
      skips: false,
    });
    got.catch((error: unknown) => (outcome.ended = String(error)));
    return outcome;
  };

  it('are those of the backoff', async () => {
    outcomeOf({ backoff: backoff.exponential({ min: 100, max: 500, jitter: 0 }), maxAttempts: 6 });
    await jest.advanceTimersByTimeAsync(5_000);
    expect(triedAt).toEqual([0, 100, 300, 700, 1_200, 1_700]);
  });

  it('B10: are shortened at the end of waitTime for exactly one last attempt', async () => {
    const outcome = outcomeOf({ waitTime: 250 });
    await jest.advanceTimersByTimeAsync(249);
    expect(outcome.ended).toBeUndefined();
    await jest.advanceTimersByTimeAsync(1);
    expect(triedAt).toEqual([0, 100, 200, 250]);
    expect(outcome.ended).toMatch(/LockTimeoutError: .*\(number 4, after 250 ms\)/);
    expect(engine.timers.size).toBe(0);
  });

  it('B14: leave nothing behind after an abort or the last attempt', async () => {
    const abort = new AbortController();
    const aborted = outcomeOf({ signal: abort.signal, waitTime: Infinity });
    outcomeOf({ maxAttempts: 2 });
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

  it('share one timer', async () => {
    for (let call = 0; call < 50; call++) outcomeOf({});
    await jest.advanceTimersByTimeAsync(50);
    expect(jest.getTimerCount()).toBe(1);
    await jest.advanceTimersByTimeAsync(60);
    expect(triedAt).toHaveLength(100);
  });
});
