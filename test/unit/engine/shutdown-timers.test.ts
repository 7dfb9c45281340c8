import { createHook } from 'node:async_hooks';
import { afterEach, expect, it } from '@jest/globals';
import { MemoryLockStore } from '../../../lib/index.js';
import { resolveLockOptions, type LockOptions } from '../../../lib/model/lock.options.js';
import { engineOn } from '../../support/engines.js';

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

/** Each leaves a timer that is no longer needed, and is kept for the next use. */
const uses: Record<string, LockOptions> = {
  'a wait that has ended': { waitTime: LONG },
  'a lease that was released early': { leaseTime: LONG },
  'the next renewal, or the end of shutdown': {},
  'a lock that stays unavailable after its hold': { holdAtLeast: LONG },
};

for (const [what, options] of Object.entries(uses)) {
  it(`B14: no timer for ${what} outlives the application`, async () => {
    // Only now: Jest has its own timers.
    isWatching = true;
    hook.enable();
    const engine = engineOn(new MemoryLockStore(), { watchdogTimeout: LONG, shutdownTimeout: LONG });
    await engine.start();
    const hold = await engine.acquire('key', resolveLockOptions('test', options, 0));
    await hold.release();
    await engine.close();
    isWatching = false;
    // The hook reports cleared timers in the next turns of the event loop.
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(pending.size).toBe(0);
  });
}
