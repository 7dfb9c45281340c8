import { uncontendedRow } from './uncontended.mjs';

export const id = 'M2';
export const title = '200 callers of one process, 20 000 different keys';

export function run(context) {
  return uncontendedRow(context, id, {
    goal: 1.3,
    plan: { rounds: 7, durationMs: 700, callers: 200, keysPerCaller: 100, sectionMs: 0 },
  });
}
