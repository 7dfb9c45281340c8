import { describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { growthIn, runCycles } from '../soak/cycles.mjs';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { until } from '../support/until.js';
import { RedisScene, scripts } from './redis-scene.js';

const built = fileURLToPath(new URL('../../dist/esm/index.js', import.meta.url));

describe('the cost of waiting', () => {
  const scene = new RedisScene();

  /** Commands that the server runs for each of this many waiters, which are served in turn. */
  async function costOfEach(waiters: number, apps: readonly LockApp[], fair: boolean): Promise<number> {
    const key = scene.key();
    const held = await (await scene.app()).locks.acquire(key);
    const served = Array.from({ length: waiters }, async (_, index) => {
      const { locks } = apps[index % apps.length]!;
      await locks.withLock(key, { waitTime: 60_000, fair }, () => undefined);
    });
    await Promise.all(apps.map((app) => queuedIn(app, key)));
    await scene.client.config('RESETSTAT');
    await held.release();
    await Promise.all(served);
    const counts = await scene.commandCounts();
    return (scripts(counts) + (counts['publish'] ?? 0)) / waiters;
  }

  it.each([
    { order: 'usual', fair: false },
    { order: 'strict', fair: true },
  ])('F25, P10: in $order order a hand-over costs the same, however many wait', async ({ fair }) => {
    const apps = [await scene.app(), await scene.app()];
    const few = await costOfEach(50, apps, fair);
    const many = await costOfEach(1_000, apps, fair);
    expect(many).toBeLessThanOrEqual(few * 1.1 + 0.1);
    // Release, push, claim and the request of the next waiter; now and then a poll.
    expect(many).toBeLessThanOrEqual(4.2);
    await scene.nothingLeft();
  });

  it('F25: a thousand waiters share one subscription and two connections, which are there from the start', async () => {
    const [holder, app] = [await scene.app(), await scene.app()];
    const key = scene.key();
    const connections = async (): Promise<number> => {
      const list = (await scene.client.client('LIST')) as string;
      return list.trim().split('\n').length;
    };
    // That of the scene, and two of each application: the check at start has closed its own.
    const before = 5;
    await until('the connections at start', async () => (await connections()) === before);
    const held = await holder.locks.acquire(key);
    const abort = new AbortController();
    const waits = Array.from({ length: 1_000 }, () =>
      app.locks.acquire(key, { waitTime: Infinity, signal: abort.signal }),
    );
    await queuedIn(app, key);

    expect(await connections()).toBe(before);
    const channels = (await scene.client.pubsub('CHANNELS', '*')) as string[];
    expect(channels).toHaveLength(2);
    expect(await scene.client.pubsub('NUMSUB', ...channels)).toEqual([channels[0], 1, channels[1], 1]);
    // One queue position for all of them.
    const [queue] = await scene.client.keys('lock:@:queue:*');
    expect(await scene.client.zcard(queue!)).toBe(1);

    const reason = new Error('enough');
    abort.abort(reason);
    const outcomes = await Promise.allSettled(waits);
    expect(outcomes.every((outcome) => outcome.status === 'rejected' && outcome.reason === reason)).toBe(
      true,
    );
    await held.release();
    await scene.nothingLeft();
  });
});

describe('resources after many calls', () => {
  const scene = new RedisScene();

  it('F50: after cycles and abandoned waits, heap, timers, listeners, connections and keys have not grown', async () => {
    const plan = { build: built, redis: scene.server.url, cycles: 20_000, abandoned: 5_000, samples: 6 };
    const { samples, problems } = await runCycles(plan);
    expect(problems).toEqual([]);
    expect(samples).toHaveLength(7);
  });

  it('the check reports what grows, and only that', () => {
    const flat = { heap: 10e6, timers: 2, listeners: 0, connections: 5, keys: 11 };
    const runOf = (last: Partial<typeof flat>): string[] =>
      growthIn([flat, flat, flat, flat, { ...flat, ...last }, { ...flat, ...last }], 20_000);
    expect(runOf({})).toEqual([]);
    expect(runOf({ heap: 10.9e6, timers: 1, keys: 10 })).toEqual([]);
    // A leak of one hundred bytes a cycle.
    expect(runOf({ heap: 12e6 })).toEqual([expect.stringContaining('100 bytes a cycle')]);
    expect(runOf({ timers: 3, connections: 6, keys: 12 })).toHaveLength(3);
    expect(runOf({ listeners: 1 })).toEqual(expect.arrayContaining([expect.stringContaining('signal')]));
  });
});
