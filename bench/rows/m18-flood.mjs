import { Actor } from '../harness/actor.mjs';
import { elapse, monotonicMs } from '../harness/clock.mjs';
import { atMost, information } from '../report/checks.mjs';
import { short } from '../report/numbers.mjs';
import { actorGauge } from './gauges.mjs';

export const id = 'M18';
export const title = 'a burst of free keys, and callers of different keys while the server is stopped';

const NORMAL = { burst: 20_000, stalled: 5_000, stallMs: 5_000 };
const QUICK = { burst: 2_000, stalled: 500, stallMs: 1_000 };
/** Locks that the process holds meanwhile. */
const HELD = 100;
/** Of all callers: longer than any store takes. */
const OPTIONS = { waitTime: 120_000 };
/** From the end of the stop until the last lock, ms (rule F69). */
const RECOVERY_MS = 10_000;

const open = async (actor, file, url) => {
  await actor.call('open', file, url, OPTIONS);
  // Compiles most of the code.
  await actor.call('flood', 500);
};

export const gauges = [
  actorGauge({
    what: `${short(QUICK.burst)} free keys at once, until the last lock`,
    unit: 'ms',
    better: 'less',
    file: 'flood.mjs',
    start: (actor, url) => open(actor, 'ours', url),
    async sample(actor) {
      const { startedAt, lastAt, failed, error } = await actor.call('flood', QUICK.burst);
      if (failed > 0) throw new Error(error);
      return lastAt - startedAt;
    },
  }),
];

export async function run({ candidates, url, stats, quick, progress }) {
  const { burst, stalled, stallMs } = quick ? QUICK : NORMAL;
  const [{ id: candidate }] = candidates.filter(
    ({ kind, variant }) => kind === 'ours' && variant === 'withLock',
  );
  const [file] = candidate.split(':');
  const actor = new Actor('flood.mjs');
  try {
    await stats.empty();
    await open(actor, file, url);
    await actor.call('hold', HELD);
    progress(id, `${short(burst)} free keys at once`);
    const first = await actor.call('flood', burst);
    progress(id, `${short(stalled)} callers, the server is stopped for ${stallMs / 1_000} s`);
    const { flood: second, resumedAt } = await floodWhileStopped(actor, stats, stalled, stallMs);
    const lost = await actor.call('release');
    const where = `${short(stalled)} callers, the server stopped for ${stallMs / 1_000} s`;
    return {
      checks: [
        information(
          `${short(burst)} free keys at once: ms until the last lock`,
          short(first.lastAt - first.startedAt),
        ),
        failures(`${short(burst)} free keys at once`, first),
        atMost(`${where}: ms from its end until the last lock`, second.lastAt - resumedAt, RECOVERY_MS),
        failures(where, second),
        atMost(`${HELD} locks held meanwhile: lost`, lost, 0),
      ],
    };
  } finally {
    await actor.kill();
  }
}

async function floodWhileStopped(actor, stats, count, ms) {
  const resume = await stats.stop();
  let flood;
  let resumedAt;
  try {
    flood = actor.call('flood', count);
    await elapse(ms);
  } finally {
    resumedAt = monotonicMs();
    resume();
  }
  return { flood: await flood, resumedAt };
}

const failures = (where, { failed, error }) =>
  atMost(`${where}: failed calls`, failed, 0, {
    measured: failed === 0 ? '0' : `${short(failed)}, such as: ${error}`,
  });
