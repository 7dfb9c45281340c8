/** A process that generates load on one candidate. */
import { openCandidate } from '../candidates/candidates.mjs';
import { elapse, MONOTONIC_OFFSET, monotonicMs } from '../harness/clock.mjs';
import { heapUsed } from '../harness/heap.mjs';
import { HeldLocks } from '../harness/held-locks.mjs';
import { serve } from '../harness/serve.mjs';

/** How long callers may keep waiting after the end of a round before the process is replaced. */
const DRAIN_MS = 600;

let candidate;
let held;

/**
 * @typedef {object} LoadPlan
 * @property {string} label part of all keys, so that rounds are independent of each other
 * @property {number} callers in this process
 * @property {number} firstCaller index of its first caller among the callers of all processes
 * @property {number | null} keysPerCaller how many keys each caller cycles through; null: all callers share one key;
 *   Infinity: a key that was never used before for each turn
 * @property {number} [sharedKeys] all callers cycle through the same keys, so many of them, from different ones on
 * @property {number} sectionMs duration of the critical section's timer; 0: the section is empty
 * @property {number} startAt on the monotonic clock
 * @property {number} durationMs
 * @property {number} [turnsPerCaller] callers stop after this many turns, and the round ends with the last of them
 * @property {number} [leadMs] how much of the duration is not counted, from its start
 * @property {number} [drainMs] instead of `DRAIN_MS`
 */

/** @param {LoadPlan} plan */
async function run(plan) {
  const callers = Array.from({ length: plan.callers }, (_, index) => ({
    keyAt: keysOf(plan, plan.firstCaller + index),
    turns: 0,
    failed: 0,
    maxWait: 0,
    askedAt: 0,
    waiting: false,
  }));
  const sections = [];
  await elapse(plan.startAt - monotonicMs());
  const { leadMs = 0 } = plan;
  const countFrom = plan.startAt + leadMs - MONOTONIC_OFFSET;
  const stopAt = plan.startAt + plan.durationMs - MONOTONIC_OFFSET;
  const errors = new Map();

  const round = { ...plan, countFrom, stopAt, sections, errors };
  let usedBefore = process.cpuUsage();
  if (leadMs > 0) void elapse(leadMs).then(() => (usedBefore = process.cpuUsage()));
  const work = Promise.all(callers.map((caller) => takeTurns(caller, round)));
  const end = elapse(stopAt - performance.now());
  await (plan.turnsPerCaller === undefined ? end : Promise.race([work, end]));
  const endedAt = Math.min(performance.now(), stopAt) + MONOTONIC_OFFSET;
  const used = process.cpuUsage(usedBefore);
  const stillWaiting = callers.filter(({ waiting }) => waiting);
  for (const caller of stillWaiting)
    caller.maxWait = Math.max(caller.maxWait, performance.now() - caller.askedAt);
  const results = callers.map(({ turns, failed, maxWait }) => ({ turns, failed, maxWait }));
  const drained = await Promise.race([
    work.then(() => true),
    elapse(plan.drainMs ?? DRAIN_MS).then(() => false),
  ]);
  return {
    callers: results,
    endedAt,
    processorMs: (used.user + used.system) / 1_000,
    sections: sections.map(([from, to]) => [from + MONOTONIC_OFFSET, to + MONOTONIC_OFFSET]),
    errors: [...errors].slice(0, 3),
    drained,
  };
}

/** The key of each turn of a caller. */
function keysOf({ label, keysPerCaller, sharedKeys }, caller) {
  if (keysPerCaller === Infinity) return (turn) => `${label}:${caller}:${turn}`;
  const keys = namesOf(label, keysPerCaller, sharedKeys, caller);
  const first = sharedKeys === undefined ? 0 : caller;
  return (turn) => keys[(first + turn) % keys.length];
}

function namesOf(label, keysPerCaller, sharedKeys, caller) {
  if (sharedKeys !== undefined) return Array.from({ length: sharedKeys }, (_, index) => `${label}:${index}`);
  if (keysPerCaller === null) return [label];
  return Array.from({ length: keysPerCaller }, (_, index) => `${label}:${caller}:${index}`);
}

async function takeTurns(caller, round) {
  const { sectionMs, countFrom, stopAt, turnsPerCaller = Infinity, sections, errors } = round;
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
      await candidate.withLock(caller.keyAt(turn), section);
      const now = performance.now();
      if (now >= countFrom && now < stopAt) caller.turns++;
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
    held = new HeldLocks(candidate);
    return candidate.version;
  },
  run,
  hold: (label, count) => held.hold(label, count),
  /** Returns how many of them were lost. */
  release: () => held.release(),
  /** Bytes in use after garbage collection, and of the whole process. Run with --expose-gc. */
  async memory() {
    const { used } = await heapUsed();
    return { heapUsed: used, rss: process.memoryUsage().rss };
  },
  processorMs() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
});
