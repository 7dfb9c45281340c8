import { createHook } from 'node:async_hooks';
import { afterEach, expect, it } from '@jest/globals';
import { LockEngine } from '../../../lib/engine/lock-engine.js';
import { MemoryLockStore } from '../../../lib/index.js';
import { resolveLockOptions, type LockOptions } from '../../../lib/model/lock.options.js';
import { until } from '../../support/until.js';

const LONG = 600_000;

/** Pending native timers that were set during the test. */
const pending = new Set<number>();
let isWatching = false;
const hook = createHook({
  init: (id, type) => {
    if (isWatching && type === 'Timeout') pending.add(id);
  },
  destroy: (id) => {
    pending.delete(id);
  },
});

afterEach(() => {
  hook.disable();
  pending.clear();
});

interface Use {
  readonly options: LockOptions;
  /** Whether the test waits until the watchdog watches the lease. */
  readonly isWatched?: boolean;
}

/** Each leaves a timer that is no longer needed, and is kept for the next use. */
const uses: Record<string, Use> = {
  'a wait that has ended': { options: { waitTime: LONG } },
  'a lease that was released early': { options: { leaseTime: LONG }, isWatched: true },
  'the next renewal': { options: {}, isWatched: true },
  'a lock that stays unavailable after its hold': { options: { holdAtLeast: LONG } },
  'the end of shutdown': { options: {} },
};

for (const [what, { options, isWatched = false }] of Object.entries(uses)) {
  it(`B14: no timer for ${what} outlives the application`, async () => {
    const settings = { watchdogTimeout: LONG, shutdownTimeout: LONG };
    const log = { log: () => undefined, warn: () => undefined };
    // Only now: Jest has its own timers.
    isWatching = true;
    hook.enable();
    const engine = new LockEngine(new MemoryLockStore(), settings, log);
    await engine.start();
    const hold = await engine.acquire('key', resolveLockOptions('test', options, 0));
    if (isWatched) await until('it is watched', () => hold.lease.isWatched);
    await hold.release();
    await engine.close();
    isWatching = false;
    // The hook reports cleared timers in the next turns of the event loop.
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(pending.size).toBe(0);
  });
}
