import { beforeEach, describe, expect, it } from '@jest/globals';
import type { LockEngine } from '../../../lib/engine/lock-engine.js';
import {
  backoff,
  LockTimeoutError,
  LockUnavailableError,
  MemoryLockStore,
  type LockOptions,
} from '../../../lib/index.js';
import type { LockStoreSession } from '../../../lib/stores/port/index.js';
import { resolveLockOptions } from '../../../lib/model/lock.options.js';
import { engineOn } from '../../support/engines.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { SlowStore } from '../../support/slow-store.js';
import { elapse } from '../../support/until.js';

/** How late a call may end after `waitTime`, ms (B10). */
const LATE = 50;
/** How late the first reply may be for the store to count as reachable, ms. */
const GRACE = 30;
/** Tolerance for clock readings and turns of the event loop, ms. */
const SOME = 1;

const keys = Array.from({ length: 8 }, (_, index) => `key-${String(index).padStart(2, '0')}`);

const ways: [string, LockOptions][] = [
  ['exclusively', {}],
  ['as readers', { mode: 'shared' }],
  ['of a semaphore', { limit: 3 }],
  ['of a semaphore with retry', { limit: 3, retry: { backoff: backoff.fixed(15) } }],
];

interface Outcome {
  readonly error: unknown;
  /** ms after the call. */
  readonly after: number;
  /** Keys that were held when the call rejected. */
  readonly left: readonly string[];
}

describe('several keys in a distant store', () => {
  inVirtualTime();
  let memory: MemoryLockStore;
  let look: LockStoreSession;
  beforeEach(() => {
    memory = new MemoryLockStore();
    look = engineOn(memory).session;
  });

  const optionsOf = (options: LockOptions) => resolveLockOptions('a test', options, 5_000);

  const taken = async (): Promise<string[]> => {
    const locks = await Promise.all(keys.map(async (key) => ((await look.inspect(key)) ? [key] : [])));
    return locks.flat();
  };

  /** The outcome of a call, and the keys that are held when it rejects. */
  const outcomeOf = async (engine: LockEngine, options: LockOptions): Promise<Outcome> => {
    const startedAt = performance.now();
    try {
      const lock = await engine.acquireAll(keys, optionsOf(options));
      const after = performance.now() - startedAt;
      await lock.release();
      return { error: undefined, after, left: [] };
    } catch (error) {
      return { error, after: performance.now() - startedAt, left: await taken() };
    }
  };

  /** Acquires the exclusive lock, or all permits. */
  const hold = async (key: string | undefined, { limit = 1 }: LockOptions): Promise<() => Promise<void>> => {
    const holder = engineOn(memory);
    const wanted = key === undefined ? [] : Array.from({ length: limit }, () => key);
    const held = await Promise.all(wanted.map((each) => holder.acquire(each, optionsOf({ limit }))));
    return async () => void (await Promise.all(held.map((lock) => lock.release())));
  };

  describe.each([10, 40])('at %i ms', (delay) => {
    describe.each(ways)('%s', (_, options) => {
      it.each([
        ['all free', undefined],
        ['the fourth held', keys[3]],
        ['the last held', keys[7]],
      ])(
        'B10, B11: the end of waitTime ends the call, and nothing is left behind when it rejects: %s',
        async (__, busy) => {
          const release = await hold(busy, options);
          const others = busy === undefined ? [] : [busy];
          for (const waitTime of [13, 24, 61, 79, 121, 139]) {
            const { error, after, left } = await outcomeOf(engineOn(new SlowStore(memory, delay)), {
              ...options,
              waitTime,
            });
            const what = { waitTime, error, after };
            expect({ ...what, isLate: after > waitTime + LATE }).toEqual({ ...what, isLate: false });
            await elapse(3 * delay);
            expect({ ...what, left: await taken() }).toEqual({ ...what, left: others });
            if (error === undefined) {
              expect(busy).toBeUndefined();
              continue;
            }
            // Unavailable only if the first reply could not arrive in time.
            const isAnswered = waitTime + GRACE > delay + SOME;
            const kind = isAnswered ? LockTimeoutError : LockUnavailableError;
            expect({ ...what, is: error instanceof kind }).toEqual({ ...what, is: true });
            const saysWho = busy !== undefined && isAnswered;
            if (saysWho) expect({ ...what, error }).toMatchObject({ error: { keys: [busy] } });
            // Grants of a first reply after the end of waitTime can't be released before the call rejects.
            if (waitTime > delay) expect({ ...what, left }).toEqual({ ...what, left: others });
          }
          await release();
        },
      );
    });
  });
});
