/**
 * Counts what one free lock after another costs its process, independent of how fast and how busy the machine is. Run with
 * EXEC_ARGV.
 */
import { createHook } from 'node:async_hooks';
import { Session } from 'node:inspector/promises';
import { openCandidate } from '../candidates/candidates.mjs';
import { serve } from '../harness/serve.mjs';

/** Fewer than fill the young generation, so that no collection hides what was allocated. */
const HOLDS = 500;
const WARM_UPS = 2_000;
const nothing = () => undefined;

let candidate;
let next = 0;

async function holds(count) {
  for (let i = 0; i < count; i++) await candidate.withLock(`key:${next++ % 1_000}`, nothing);
}

async function promises() {
  let count = 0;
  const hook = createHook({ init: (_id, type) => type === 'PROMISE' && count++ }).enable();
  await holds(HOLDS);
  hook.disable();
  return count / HOLDS;
}

async function bytes() {
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  await holds(HOLDS);
  return (process.memoryUsage().heapUsed - before) / HOLDS;
}

/** Calls of JavaScript functions, those of Node and ioredis included. */
async function calls() {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await holds(HOLDS);
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  const counts = result.flatMap(({ functions }) => functions.map(({ ranges: [{ count }] }) => count));
  return counts.reduce((sum, count) => sum + count, 0) / HOLDS;
}

serve({
  async open(id, url) {
    candidate = await openCandidate(id, url);
    await holds(WARM_UPS);
  },

  async count() {
    const counted = { bytes: await bytes(), promises: await promises(), calls: await calls() };
    await candidate.close();
    return counted;
  },
});
