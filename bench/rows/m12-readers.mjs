import { atLeast, atMost, information } from '../report/checks.mjs';
import { short, times } from '../report/numbers.mjs';
import { loadGauge } from './gauges.mjs';
import { bestPeer, only, ours, perSecondRatio } from './measure-load.mjs';
import { measureLoads } from './measure-loads.mjs';
import { BOUND_MS, measureWriter } from './writer-among-readers.mjs';

export const id = 'M12';
export const title = '100 readers of one key, alone and with a writer';

const READERS = 100;
const SHARING = { mode: 'shared' };
/** A longer warm-up, since compilation under so many holds per second takes a while. */
const EMPTY = {
  rounds: 5,
  durationMs: 600,
  warmUpMs: 1_500,
  callers: READERS,
  keysPerCaller: null,
  sectionMs: 0,
};
/** Shows that readers hold the lock together, and compares their rate with the same work without a lock. */
const WITH_SECTION = { ...EMPTY, rounds: 3, durationMs: 1_000, sectionMs: 2 };

/** Four processes of an application that writes occasionally. */
const NOW_AND_THEN = { processes: 4, readersEach: 25, pauseMs: [100, 100] };
/** Two processes that only read, and a writer that arrives at random moments. */
const BUSY = { processes: 2, readersEach: 100, pauseMs: [0, 10], sectionMs: 2 };

export const gauges = [
  ['empty', EMPTY],
  ['2 ms', WITH_SECTION, true],
].map(([section, plan, thorough]) =>
  loadGauge({ thorough, what: `one process, ${section}`, use: 'ours:withLock', sharing: SHARING, plan }),
);

/** The peer has no read locks. The nearest substitute is its semaphore with a permit for every reader. */
export async function run(context) {
  const alone = await measureAlone(context);
  const writes = context.quick ? 5 : 40;
  const written = [
    ['4 × 25 readers, empty', { ...NOW_AND_THEN, sectionMs: 0, writes }],
    ['4 × 25 readers, 2 ms', { ...NOW_AND_THEN, sectionMs: 2, writes }],
    ['2 × 100 busy readers, 2 ms', { ...BUSY, writes: context.quick ? 20 : 1_000 }],
  ];
  const waits = [];
  for (const [name, plan] of written) {
    context.progress(id, `${name}, ${plan.writes} writes`);
    waits.push({ name, ...(await measureWriter(context, plan)) });
  }
  return {
    text: alone.text,
    checks: [
      ...alone.checks,
      ...waits.flatMap(({ name, writes: count, misses, wait, longestReader }) => [
        atMost(`${name}: waits of a writer longer than ${BOUND_MS} ms + longest reader`, misses, 0, {
          measured: `${short(misses)} of ${short(count)}`,
        }),
        information(
          `${name}: writer's wait, median and longest; longest reader`,
          `${short(wait.median)}, ${short(wait.max)}; ${short(longestReader)} ms`,
        ),
      ]),
    ],
    loads: alone.loads,
  };
}

async function measureAlone(context) {
  const fleets = { row: id, candidates: context.sharing, processes: 1, sharing: SHARING };
  const { measured, text, loads } = await measureLoads(
    context,
    fleets,
    [
      { name: 'one process, empty', plan: EMPTY, which: ({ kind }) => kind !== 'ideal' },
      { name: 'one process, 2 ms', plan: WITH_SECTION },
    ],
    { limit: READERS },
  );
  const [empty, section] = measured;
  const peer = bestPeer(empty);
  const ratio = perSecondRatio(ours(empty), peer);
  const share = perSecondRatio(ours(section), only(section, 'ideal')[0]);
  return {
    text,
    checks: [
      atLeast(`one process, empty: ÷ best peer, a semaphore of ${peer.candidate.label}`, ratio, 8, {
        measured: times(ratio),
      }),
      atLeast('one process, 2 ms: ÷ the same without a lock', share, 0.8),
      atLeast('one process, 2 ms: most readers at once', ours(section).mostAtOnce, READERS),
    ],
    loads,
  };
}
