import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { LockedOptions } from '../../lib/index.js';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { WorkerProcess } from '../support/worker-process.js';

/** Of the job, ms. */
const PERIOD = 2_000;
/** By how much the clocks of the replicas are off, ms. */
const OFFSETS = [-400, 0, 300];
/** Longer than their clocks differ, and shorter than the period, with as much to spare on either side. */
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

  /** How often the job ran at each of several ticks in a row, all replicas together. */
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
    // All of them are there from the next tick on; when all have seen a later one, what was due before is done.
    const first = 1 + Math.max(...workers.map((worker) => Math.max(...ticksOf(worker, 'ticked'))));
    const isThrough = (worker: WorkerProcess): boolean => ticksOf(worker, 'ticked').includes(first + TICKS);
    await until('all ticks are over', () => workers.every(isThrough), { deadline: 30_000 });
    const runs = workers.flatMap((worker) => ticksOf(worker, 'ran'));
    return Array.from({ length: TICKS }, (_, index) => runs.filter((tick) => tick === first + index).length);
  };

  it('runs once at each tick, however their clocks differ, with holdAtLeast', async () => {
    expect(await runsPerTick({ holdAtLeast: HOLD_AT_LEAST })).toEqual(Array(TICKS).fill(1));
    for (const { unhandled } of workers) expect(unhandled).toEqual([]);
  });

  it('runs more often without it: a replica that comes a little later finds the lock free again', async () => {
    const runs = await runsPerTick({});
    expect(Math.max(...runs)).toBeGreaterThan(1);
  });
});
