import { cpus } from 'node:os';
import { elapse } from './clock.mjs';

/**
 * The share of time in which the processors were busy between two samples.
 *
 * @param {{ times: Record<string, number> }[]} before from `os.cpus()`
 * @returns {number} from 0 to 1
 */
function shareInUse(before, after) {
  const total = { idle: 0, all: 0 };
  for (const [index, { times }] of after.entries()) {
    const earlier = before[index]?.times ?? times;
    for (const [kind, value] of Object.entries(times)) {
      const passed = value - earlier[kind];
      total.all += passed;
      if (kind === 'idle') total.idle += passed;
    }
  }
  return total.all === 0 ? 0 : 1 - total.idle / total.all;
}

/** The share of processor time that other programs use: this process is idle meanwhile. */
export async function othersShare() {
  const before = cpus();
  await elapse(1_000);
  return shareInUse(before, cpus());
}
