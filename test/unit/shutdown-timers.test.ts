import { createHook } from 'node:async_hooks';
import { afterEach, expect, it } from '@jest/globals';
import { LockEngine } from '../../lib/engine/lock-engine.js';
import { MemoryLockStore } from '../../lib/index.js';
import { resolveLockOptions, type LockOptions } from '../../lib/model/lock.options.js';
import { until } from '../support/until.js';

const LONG = 600_000;

/** Native timers that were set since the test began, and neither fired nor were cleared. */
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
  /** Whether the lock is held for so long that it is watched over. */
  readonly isWatched?: boolean;
}

/** Each has a timer that nobody needs any more, and which is left running for the next who might. */
const uses: Record<string, Use> = {
  'a wait that is over': { options: { waitTime: LONG } },
  'a lease that has ended before its time': { options: { leaseTime: LONG }, isWatched: true },
  'the next renewal': { options: {}, isWatched: true },
  'a lock that stays taken after its hold': { options: { holdAtLeast: LONG } },
  'the end of shutdown': { options: {} },
};

for (const [what, { options, isWatched = false }] of Object.entries(uses)) {
  it(`B14: no timer for ${what} outlives the application`, async () => {
    const settings = { watchdogTimeout: LONG, shutdownTimeout: LONG };
    const log = { log: () => undefined, warn: () => undefined };
    // Not before: the runner has timers of its own.
    isWatching = true;
    hook.enable();
    const engine = new LockEngine(new MemoryLockStore(), settings, log);
    await engine.start();
    const hold = await engine.acquire('key', resolveLockOptions('test', options, 0));
    if (isWatched) await until('it is watched over', () => hold.lease.isWatched);
    await hold.release();
    await engine.close();
    isWatching = false;
    // What was cleared is told in the next turns of the event loop.
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(pending.size).toBe(0);
  });
}
