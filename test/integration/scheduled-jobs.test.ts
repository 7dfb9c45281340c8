import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { LockedOptions } from '../../lib/index.js';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { WorkerProcess } from '../support/worker-process.js';

/** The period of the job, ms. */
const PERIOD = 2_000;
/** Offsets of the replicas' clocks, ms. */
const OFFSETS = [-400, 0, 300];
/** Halfway between the largest clock difference and the period, ms. */
const HOLD_AT_LEAST = 1_350;
const TICKS = 4;

describe('a job that every replica starts by its own clock', () => {
  let server: RedisServer;
  const workers: WorkerProcess[] = [];
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.kill()));
  });
  afterAll(async () => {
    await server.close();
  });

  /** The number of runs at each of several consecutive ticks, over all replicas. */
  const runsPerTick = async (settings: Partial<LockedOptions<[]>>): Promise<number[]> => {
    const locked = { key: `job-${randomUUID()}`, waitTime: 0, onBusy: 'skip', ...settings } as const;
    await Promise.all(
      OFFSETS.map(async (offset) => {
        const worker = await WorkerProcess.start(undefined, { clock: true });
        workers.push(worker);
        worker.setClock(offset);
        await worker.do('schedule', { options: { redis: server.url }, period: PERIOD, locked });
      }),
    );
    const ticksOf = (worker: WorkerProcess, type: string): number[] =>
      worker.events.flatMap((event) => (event.type === type ? (event.tick ?? []) : []));
    await until('every replica has begun', () =>
      workers.every((worker) => ticksOf(worker, 'ticked').length > 0),
    );
    // All replicas run from the next tick on. When all have seen a later tick, the earlier runs have ended.
    const first = 1 + Math.max(...workers.map((worker) => Math.max(...ticksOf(worker, 'ticked'))));
    const isThrough = (worker: WorkerProcess): boolean => ticksOf(worker, 'ticked').includes(first + TICKS);
    await until('all ticks have passed', () => workers.every(isThrough), { deadline: 30_000 });
    const runs = workers.flatMap((worker) => ticksOf(worker, 'ran'));
    return Array.from({ length: TICKS }, (_, index) => runs.filter((tick) => tick === first + index).length);
  };

  it('runs once at each tick with holdAtLeast, despite different clocks', async () => {
    expect(await runsPerTick({ holdAtLeast: HOLD_AT_LEAST })).toEqual(Array(TICKS).fill(1));
    for (const { unhandled } of workers) expect(unhandled).toEqual([]);
  });

  it('runs more often without it, since a later replica finds the lock free again', async () => {
    const runs = await runsPerTick({});
    expect(Math.max(...runs)).toBeGreaterThan(1);
  });
});
