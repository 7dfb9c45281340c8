import { atLeast, atMost, mostToLeast } from '../report/checks.mjs';
import { loadGauge } from './gauges.mjs';
import { againstBestPeer, only, ours, perSecondRatio } from './measure-load.mjs';
import { measureLoads } from './measure-loads.mjs';

export const id = 'M13';
export const title = 'a semaphore of 10 with 100 callers, of one process and of 4 × 25';

const LIMIT = 10;
const SHARING = { limit: LIMIT };
/** A longer warm-up, since compilation under so many holds per second takes a while. */
const EMPTY = {
  rounds: 5,
  durationMs: 600,
  warmUpMs: 1_500,
  callers: 100,
  keysPerCaller: null,
  sectionMs: 0,
};
/** Ten workers without a lock are the upper limit. */
const WITH_SECTION = { ...EMPTY, rounds: 3, durationMs: 1_000, sectionMs: 2, workers: LIMIT };
const MOST_TO_LEAST = 1.5;

const SETTINGS = [
  { processes: 1, where: 'one process', overBestPeer: 10 },
  { processes: 4, where: '4 processes', overBestPeer: 3 },
];

export const gauges = SETTINGS.flatMap(({ processes, where }) =>
  [
    ['empty', EMPTY],
    ['2 ms', WITH_SECTION],
  ].map(([section, plan]) =>
    loadGauge({
      what: `${where}, ${section}`,
      use: 'ours:withLock',
      thorough: processes === 1 && plan === WITH_SECTION,
      processes,
      sharing: SHARING,
      plan,
    }),
  ),
);

export async function run(context) {
  const parts = [];
  for (const setting of SETTINGS) parts.push(await measure(context, setting));
  return {
    text: parts.flatMap(({ text }) => text),
    checks: parts.flatMap(({ checks }) => checks),
    loads: parts.flatMap(({ loads }) => loads),
  };
}

async function measure(context, { processes, where, overBestPeer }) {
  const fleets = { row: id, candidates: context.sharing, processes, sharing: SHARING };
  const { measured, text, loads } = await measureLoads(
    context,
    fleets,
    [
      { name: `${where}, empty`, plan: EMPTY, which: ({ kind }) => kind !== 'ideal' },
      { name: `${where}, 2 ms`, plan: WITH_SECTION },
    ],
    { limit: LIMIT },
  );
  const [empty, section] = measured;
  const share = perSecondRatio(ours(section), only(section, 'ideal')[0]);
  return {
    text,
    checks: [
      againstBestPeer(`${where}, empty: `, empty, overBestPeer),
      mostToLeast(`${where}, empty`, ours(empty).turns, MOST_TO_LEAST),
      atLeast(`${where}, 2 ms: ÷ ten workers without a lock`, share, 0.9),
      mostToLeast(`${where}, 2 ms`, ours(section).turns, MOST_TO_LEAST),
      atMost(`${where}: most holders at once`, ours(section).mostAtOnce, LIMIT),
    ],
    loads,
  };
}
