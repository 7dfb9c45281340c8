import { choose } from './choose.mjs';
import { loadGauge } from './gauges.mjs';
import { measureFreeLocks } from './uncontended.mjs';

export const id = 'M2';
export const title = '200 callers of one process, 20 000 different keys';

const PLAN = { rounds: 7, durationMs: 600, callers: 200, keysPerCaller: 100, sectionMs: 0 };

export const gauges = [loadGauge({ what: '`withLock`', use: 'ours:withLock', plan: PLAN })];

export async function run(context) {
  return await measureFreeLocks(context, id, {
    candidates: choose(context.candidates, { floor: true, peers: 'tuned' }),
    name: '',
    plan: PLAN,
    goals: { withLock: 1.7 },
  });
}
