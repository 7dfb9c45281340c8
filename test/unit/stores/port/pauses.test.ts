import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { pauseBeforeConnecting } from '../../../../lib/stores/port/times.js';
import { Random } from '../../../soak/random.mjs';

const PROCESSES = 1_000;
/** How many of them may connect in any 100 ms. */
const MOST_IN_100_MS = 0.3 * PROCESSES;

beforeEach(() => {
  const random = new Random(1);
  jest.spyOn(Math, 'random').mockImplementation(() => random.next());
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** When a process that lost its connection at 0 is connected again, if the server is down until then. */
function connectedAt(outage: number): number {
  let at = 0;
  for (let attempt = 0; attempt === 0 || at < outage; attempt += 1) at += pauseBeforeConnecting(attempt);
  return at;
}

it.each([100, 300, 1_000, 3_000, 10_000])(
  'F69: the processes of a fleet connect spread in time after a restart of %d ms, all within two seconds',
  (outage) => {
    const times = Array.from({ length: PROCESSES }, () => connectedAt(outage)).sort(
      (one, other) => one - other,
    );
    const together = times.map((at) => times.filter((time) => time >= at && time < at + 100).length);
    expect(Math.max(...together)).toBeLessThanOrEqual(MOST_IN_100_MS);
    expect(times.at(-1)).toBeLessThanOrEqual(outage + 2_000);
  },
);

it('F69: a connection that was cut is replaced at once', () => {
  for (let process = 0; process < PROCESSES; process += 1)
    expect(pauseBeforeConnecting(0)).toBeLessThanOrEqual(50);
});
