import { information } from '../report/checks.mjs';
import { short, times } from '../report/numbers.mjs';
import { choose } from './choose.mjs';
import { loadGauge } from './gauges.mjs';
import { againstBestPeer, bestPeer, ours, perSecondRatio } from './measure-load.mjs';
import { measureLoads } from './measure-loads.mjs';

export const id = 'M3';
export const title = '100 callers of one process on one key, empty section';

const GOAL = 30;
const TURNS = 20;
/** A longer warm-up, since compilation under so many holds per second takes a while. */
const FIXED_TIME = {
  rounds: 7,
  durationMs: 600,
  warmUpMs: 1_500,
  callers: 100,
  keysPerCaller: null,
  sectionMs: 0,
};
/** Ends with the last caller, so that serving one caller while the others sleep brings no advantage. */
const FIXED_WORK = { ...FIXED_TIME, rounds: 3, durationMs: 2_000, turnsPerCaller: TURNS, leadMs: 200 };

export const gauges = [
  loadGauge({ what: '`withLock`', use: 'ours:withLock', plan: FIXED_TIME }),
  loadGauge({ what: '`fair: true`', use: 'ours:fair', thorough: true, plan: FIXED_TIME }),
];

/** The other variants add no information: `fair` serves the same turns, and README settings poll less often. */
const isWorthTurns = ({ kind, variant }) => variant === (kind === 'ours' ? 'withLock' : 'tuned');

export async function run(context) {
  const candidates = choose(context.candidates, { ours: ['withLock', 'fair'] });
  const untilTurns = `until each caller had ${TURNS} turns`;
  const { measured, text, loads } = await measureLoads(context, { row: id, candidates, processes: 1 }, [
    { name: '', plan: FIXED_TIME },
    { name: untilTurns, plan: FIXED_WORK, which: isWorthTurns },
  ]);
  const [time, work] = measured;
  const peer = bestPeer(time);
  const fairRatio = perSecondRatio(
    time.find(({ candidate }) => candidate.variant === 'fair'),
    peer,
  );
  const turnsOf = ({ turns }) => `${short(turns.least)}–${short(turns.most)}`;
  return {
    text,
    checks: [
      againstBestPeer('', time, GOAL),
      againstBestPeer(`${untilTurns}: `, work, GOAL),
      information('`fair: true`: ÷ best peer', times(fairRatio)),
      information(
        'least- and most-served caller, best peer : ours',
        `${turnsOf(peer)} : ${turnsOf(ours(time))}`,
      ),
    ],
    loads,
  };
}
