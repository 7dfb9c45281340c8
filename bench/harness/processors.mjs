import { cpus } from 'node:os';
import { elapse } from './clock.mjs';

/**
 * Which share of their time processors were at work between two looks at them.
 *
 * @param {{ times: Record<string, number> }[]} before as `os.cpus()` tells
 * @param {{ times: Record<string, number> }[]} after
 * @returns {number} from 0 to 1
 */
export function shareInUse(before, after) {
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

/** How busy the machine is while this process does nothing. */
export async function othersShare() {
  const before = cpus();
  await elapse(1_000);
  return shareInUse(before, cpus());
}
