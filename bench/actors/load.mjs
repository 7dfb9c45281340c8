/** A process that generates load on one candidate. */
import { openCandidate } from '../candidates/candidates.mjs';
import { elapse, MONOTONIC_OFFSET, monotonicMs } from '../harness/clock.mjs';
import { serve } from '../harness/serve.mjs';

/** How long callers may keep waiting after the end of a round before the process is replaced. */
const DRAIN_MS = 600;

let candidate;

/**
 * @typedef {object} LoadPlan
 * @property {string} label part of all keys, so that rounds are independent of each other
 * @property {number} callers in this process
 * @property {number} firstCaller index of its first caller among the callers of all processes
 * @property {number | null} keysPerCaller how many keys each caller cycles through; null: all callers share one key
 * @property {number} sectionMs duration of the critical section's timer; 0: the section is empty
 * @property {number} startAt on the monotonic clock
 * @property {number} durationMs
 * @property {number} [turnsPerCaller] callers stop after this many turns, and the round ends with the last of them
 */

/** @param {LoadPlan} plan */
async function run(plan) {
  const callers = Array.from({ length: plan.callers }, (_, index) => ({
    keys: keysOf(plan, plan.firstCaller + index),
    turns: 0,
    failed: 0,
    maxWait: 0,
    askedAt: 0,
    waiting: false,
  }));
  const sections = [];
  await elapse(plan.startAt - monotonicMs());
  const stopAt = plan.startAt + plan.durationMs - MONOTONIC_OFFSET;
  const errors = new Map();

  const round = { ...plan, stopAt, sections, errors };
  const usedBefore = process.cpuUsage();
  const work = Promise.all(callers.map((caller) => takeTurns(caller, round)));
  const end = elapse(stopAt - performance.now());
  await (plan.turnsPerCaller === undefined ? end : Promise.race([work, end]));
  const endedAt = Math.min(performance.now(), stopAt) + MONOTONIC_OFFSET;
  const used = process.cpuUsage(usedBefore);
  const stillWaiting = callers.filter(({ waiting }) => waiting);
  for (const caller of stillWaiting)
    caller.maxWait = Math.max(caller.maxWait, performance.now() - caller.askedAt);
  const results = callers.map(({ turns, failed, maxWait }) => ({ turns, failed, maxWait }));
  const drained = await Promise.race([work.then(() => true), elapse(DRAIN_MS).then(() => false)]);
  return {
    callers: results,
    endedAt,
    processorMs: (used.user + used.system) / 1_000,
    sections: sections.map(([from, to]) => [from + MONOTONIC_OFFSET, to + MONOTONIC_OFFSET]),
    errors: [...errors].slice(0, 3),
    drained,
  };
}

function keysOf({ label, keysPerCaller }, caller) {
  if (keysPerCaller === null) return [label];
  return Array.from({ length: keysPerCaller }, (_, index) => `${label}:${caller}:${index}`);
}

async function takeTurns(caller, { sectionMs, stopAt, turnsPerCaller = Infinity, sections, errors }) {
  const { keys } = caller;
  const granted = () => {
    caller.waiting = false;
    const now = performance.now();
    const waited = now - caller.askedAt;
    if (waited > caller.maxWait && now < stopAt) caller.maxWait = waited;
    return now;
  };
  const section =
    sectionMs === 0
      ? granted
      : async () => {
          const from = granted();
          // Granted after the end of the round: not counted.
          if (from >= stopAt) return;
          await elapse(sectionMs);
          sections.push([from, performance.now()]);
        };
  for (let turn = 0; turn < turnsPerCaller; turn++) {
    caller.askedAt = performance.now();
    if (caller.askedAt >= stopAt) return;
    caller.waiting = true;
    try {
      await candidate.withLock(keys[turn % keys.length], section);
      if (performance.now() < stopAt) caller.turns++;
    } catch (error) {
      if (performance.now() < stopAt) caller.failed++;
      errors.set(error.name, error.message);
    }
    caller.waiting = false;
  }
}

serve({
  async open(id, url, sharing) {
    candidate = await openCandidate(id, url, sharing);
    return candidate.version;
  },
  run,
});
