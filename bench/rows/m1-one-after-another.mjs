import { uncontendedRow } from './uncontended.mjs';

export const id = 'M1';
export const title = 'one caller, take and give back, one key after another';

export function run(context) {
  return uncontendedRow(context, id, {
    goal: 0.95,
    plan: { rounds: 7, durationMs: 700, callers: 1, keysPerCaller: 1_000, sectionMs: 0 },
  });
}
