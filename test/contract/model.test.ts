import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import type { LockStore } from '../../lib/stores/port/index.js';
import { KeyNames } from '../../lib/stores/redis/scripts/key-names.js';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { RedisServer } from '../support/redis-server.js';
import { canSetServerClocks } from '../support/server-clock.js';
import { VirtualTime } from '../support/virtual-time.js';
import { acts, ModelRun, type Step } from './model-run.js';
import { PortClient } from './port-client.js';
import { stores } from './stores.js';

/** A store for many runs, each with its own key. */
interface Stage {
  readonly store: LockStore;
  /** Whether a request can reach the store after its sender has given up on it. */
  readonly canBeLate: boolean;
  /** How much of an unused key is left. */
  leftOf(key: string): Promise<number>;
  close(): Promise<void>;
}

/** Runs that proceed concurrently, so that the store is never idle. */
const LANES = 4;
const RUNS = 1_000;

/** The relative frequency of each step. */
const weights: Record<Step['act'], number> = {
  ask: 12,
  'ask all': 1,
  release: 5,
  'release all': 1,
  cancel: 1,
  doubt: 1,
  late: 1,
  renew: 1,
  expire: 2,
  break: 1,
};

const step = fc.record<Step>({
  act: fc.oneof(...acts.map((act) => ({ weight: weights[act], arbitrary: fc.constant(act) }))),
  who: fc.nat({ max: 7 }),
  flag: fc.boolean(),
  isOdd: fc.integer({ min: 0, max: 19 }).map((number) => number === 19),
});

const scripts = fc.record({
  /** The limits of the callers of the key, in turn. */
  limits: fc.constantFrom([1, Infinity, Infinity], [Infinity, 1], [1], [2], [3], [4], [2, 3]),
  steps: fc.array(step, { minLength: 1, maxLength: 30, size: 'max' }),
});

const stages = { memory, redis };

for (const [name, open] of Object.entries(stages)) {
  describe(`the rules of ${name}, at random`, () => {
    let stage: Stage;
    const lanes: PortClient[][] = [];

    beforeAll(async () => {
      stage = await open();
      for (let lane = 0; lane < LANES; lane++) {
        const clients = await Promise.all([1, 2, 3].map(() => PortClient.open(stage.store)));
        for (const client of clients) await listen(client);
        lanes.push(clients);
      }
    });

    afterAll(async () => {
      await Promise.all(lanes.flat().map((client) => client.close()));
      await stage.close();
    });

    it('B13, P30: any requests in any order lead to the holders and waiters of the model, and nothing is left', async () => {
      await Promise.all(
        lanes.map((clients) =>
          fc.assert(
            fc.asyncProperty(scripts, async ({ limits, steps }) => {
              const key = `key-${randomUUID()}`;
              const run = new ModelRun(clients, key, limits, stage.canBeLate);
              for (const one of steps) await run.take(one);
              await run.end();
              expect(await stage.leftOf(key)).toBe(0);
            }),
            { numRuns: RUNS / LANES },
          ),
        ),
      );
    });
  });
}

/** A client that has waited once receives pushes. */
async function listen(client: PortClient): Promise<void> {
  const key = `key-${randomUUID()}`;
  const [holder, waiter] = [client.newOwner(), client.newOwner()];
  await client.take(key, holder);
  await client.acquire(key, waiter, { wait: true });
  await client.cancel(key, waiter);
  await client.release(key, holder);
}

async function memory(): Promise<Stage> {
  const { port, canBeLate, leftovers, close } = await stores.memory();
  // Other runs proceed meanwhile.
  const leftOf = async (key: string): Promise<number> =>
    (await leftovers()).filter((name) => name.endsWith(key)).length;
  return { store: port(), canBeLate, leftOf, close };
}

async function redis(): Promise<Stage> {
  // No queue entry ends because the machine stalls for some seconds.
  const server = await RedisServer.start({ clock: canSetServerClocks });
  const stopTime = await VirtualTime.start([server]);
  const client = server.client();
  const names = new KeyNames('lock:');
  const leftOf = (key: string): Promise<number> => {
    const { lock, queue, waiters } = names.of(key);
    return client.exists(lock, queue, waiters);
  };
  return {
    store: new RedisLockStore(server.url, 'lock:'),
    canBeLate: true,
    leftOf,
    close: () => {
      stopTime();
      return server.close();
    },
  };
}
