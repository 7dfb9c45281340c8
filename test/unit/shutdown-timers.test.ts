import { createHook } from 'node:async_hooks';
import { afterEach, expect, it } from '@jest/globals';
import { LockEngine } from '../../lib/engine/lock-engine.js';
import { MemoryLockStore } from '../../lib/index.js';
import type { LockOptions } from '../../lib/model/lock.options.js';
import { resolveLockOptions } from '../../lib/model/resolved-lock.options.js';
import { until } from '../support/until.js';

const LONG = 600_000;
const SHORT = 1;

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
  readonly shutdownTimeout: number;
  /** Whether the lock is held for so long that it is watched over. */
  readonly isWatched?: boolean;
}

/** Each has one timer that nobody needs any more, and which is left running for the next who might. */
const uses: Record<string, Use> = {
  'a wait that is over': { options: { waitTime: LONG }, shutdownTimeout: SHORT },
  'a lease that has ended before its time': {
    options: { waitTime: 0, leaseTime: LONG },
    shutdownTimeout: SHORT,
    isWatched: true,
  },
  'the next renewal': { options: { waitTime: 0 }, shutdownTimeout: SHORT, isWatched: true },
  'a lock that stays taken after its hold': {
    options: { waitTime: 0, holdAtLeast: LONG },
    shutdownTimeout: SHORT,
  },
  'the end of shutdownTimeout': { options: { waitTime: 0 }, shutdownTimeout: LONG },
};

for (const [what, { options, shutdownTimeout, isWatched = false }] of Object.entries(uses)) {
  it(`B14: no timer for ${what} outlives the application`, async () => {
    const settings = { waitTime: 0, watchdogTimeout: LONG, shutdownTimeout };
    const log = { log: () => undefined, warn: () => undefined };
    // Not before: the runner has timers of its own.
    isWatching = true;
    hook.enable();
    const engine = new LockEngine(new MemoryLockStore(), settings, log);
    await engine.start();
    const hold = await engine.acquire('key', resolveLockOptions('test', options, 0));
    if (isWatched) expect(engine.context.leases.all.size).toBe(1);
    await hold.release();
    await engine.close();
    isWatching = false;
    await until('all timers are cleared', () => pending.size === 0, { deadline: 5_000 });
  });
}
