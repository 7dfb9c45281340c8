import { describe, expect, it } from '@jest/globals';
import { randomInt } from 'node:crypto';
import { Random } from '../soak/random.mjs';
import { agree, SharingWitness } from '../support/sharing-witness.js';
import { elapse, within } from '../support/until.js';
import { WorkerProcess, type ShareReport } from '../support/worker-process.js';
import { RedisScene } from './redis-scene.js';

/** The limits that callers use for one key; Infinity for readers. */
const LIMITS = [1, 3, 5, Infinity];
const CALLERS = 40;

/** The `waitTime` of callers that do not give up, ms. */
const LONG = 30_000;

interface Call extends ShareReport {
  readonly limit: number;
  readonly waitTime: number;
}

/** Replays when callers entered and left, by a clock outside of their processes. */
function witnessOf(calls: readonly Call[]): SharingWitness {
  const witness = new SharingWitness();
  const steps = calls.flatMap(({ limit, enteredAt, leftAt }) =>
    enteredAt === undefined || leftAt === undefined
      ? []
      : [
          { at: enteredAt, limit, isIn: true },
          { at: leftAt, limit, isIn: false },
        ],
  );
  for (const { limit, isIn } of steps.sort((one, other) => one.at - other.at)) {
    if (isIn) witness.enter(limit);
    else witness.leave(limit);
  }
  return witness;
}

/** The name of a limit in error messages. */
function nameOf(limit: number): string {
  if (limit === Infinity) return "mode 'shared'";
  return limit === 1 ? "mode 'exclusive' (limit 1)" : `limit ${String(limit)}`;
}

/**
 * Whether the other call justifies the conflict error: it held the lock or waited for it at that time, with a different
 * limit, and the message names that limit.
 */
function isReasonFor(other: Call, { limit, message, askedAt, endedAt }: Call): boolean {
  if (other.failure === 'LOCK_CONFLICT' || agree(other.limit, limit)) return false;
  if (other.askedAt > endedAt || other.endedAt < askedAt) return false;
  return (
    message?.includes(
      `was requested with ${nameOf(limit)}, but is held or waited for with ${nameOf(other.limit)}.`,
    ) === true
  );
}

/** Calls that failed without a conflicting call. */
function unfounded(calls: readonly Call[]): readonly Call[] {
  return calls.filter((call) => {
    if (call.failure === undefined) return false;
    if (call.failure === 'LOCK_CONFLICT') return !calls.some((other) => isReasonFor(other, call));
    // A caller with a short waitTime may time out before Redis replies.
    const isGivingUp = ['LOCK_TIMEOUT', 'LOCK_UNAVAILABLE'].includes(call.failure);
    return !isGivingUp || call.waitTime === LONG;
  });
}

describe('processes that disagree on the limit of a lock', () => {
  const scene = new RedisScene();

  it('at random: only compatible callers run together, and only conflicting callers fail', async () => {
    const start = async (): Promise<WorkerProcess> =>
      scene.until(await WorkerProcess.start({ redis: scene.url, shutdownTimeout: 200 }));
    const processes = await Promise.all([start(), start()]);
    for (const usual of [3, 1, Infinity]) {
      const seed = randomInt(2 ** 31);
      const random = new Random(seed);
      const key = scene.key();
      const calls: Promise<Call>[] = [];
      for (let n = 0; n < CALLERS; n++) {
        const limit = random.chance(0.7) ? usual : random.pick(LIMITS);
        // Some give up soon.
        const waitTime = random.chance(0.2) ? random.between(1, 60) : LONG;
        const options = limit === Infinity ? { mode: 'shared' as const, waitTime } : { limit, waitTime };
        const work = random.between(0, 8);
        const report = random.pick(processes).do('share', { key, options, work });
        calls.push(report.then((seen) => ({ limit, waitTime, ...seen })));
        if (random.chance(0.3)) await elapse(random.between(0, 10));
      }
      const outcomes = await within(60_000, 'all callers', Promise.all(calls));
      const { findings } = witnessOf(outcomes);
      expect({ seed, findings, unfounded: unfounded(outcomes) }).toEqual({
        seed,
        findings: [],
        unfounded: [],
      });
      expect(outcomes.some(({ failure }) => failure === undefined)).toBe(true);
      await scene.nothingLeft();
    }
    for (const process of processes) expect(process.unhandled).toEqual([]);
  });
});
