import { above, atLeast, mostToLeast } from '../report/checks.mjs';
import { percent, short } from '../report/numbers.mjs';
import { choose } from './choose.mjs';
import { loadGauge } from './gauges.mjs';
import { againstBestPeer, ours } from './measure-load.mjs';
import { measureLoads } from './measure-loads.mjs';

export const id = 'M4';
export const title = '4 processes × 25 callers on one key';

const PROCESSES = 4;
const EMPTY = { rounds: 5, durationMs: 600, callers: 100, keysPerCaller: null, sectionMs: 0 };
/** Longer, so that callers have enough turns to compare. */
const WITH_SECTION = { ...EMPTY, rounds: 3, durationMs: 2_000, sectionMs: 2 };
const MOST_TO_LEAST = 1.2;

export const gauges = [
  loadGauge({ what: 'empty', use: 'ours:withLock', processes: PROCESSES, plan: EMPTY }),
  loadGauge({ what: '2 ms', use: 'ours:withLock', processes: PROCESSES, plan: WITH_SECTION }),
];

export async function run(context) {
  const fleets = { row: id, candidates: choose(context.candidates, {}), processes: PROCESSES };
  const { measured, text, loads } = await measureLoads(context, fleets, [
    { name: 'empty', plan: EMPTY },
    {
      name: '2 ms',
      plan: WITH_SECTION,
      which: ({ kind, variant }) => kind === 'ours' || variant === 'tuned',
    },
  ]);
  const [empty, section] = measured;
  const { meanSection, perSecond, turns } = ours(section);
  const ideal = 1_000 / meanSection;
  return {
    text,
    checks: [
      againstBestPeer('empty: ', empty, 5),
      mostToLeast('empty', ours(empty).turns, MOST_TO_LEAST),
      againstBestPeer('2 ms: ', section, 1, above),
      atLeast(
        `2 ms: ÷ ideal of ${short(ideal)}/s (÷ 500/s: ${percent(perSecond.median / 500)})`,
        perSecond.median / ideal,
        0.9,
      ),
      mostToLeast('2 ms', turns, MOST_TO_LEAST),
    ],
    loads,
  };
}
