import { information } from '../report/checks.mjs';
import { loadTable } from '../report/load-table.mjs';
import { short, times } from '../report/numbers.mjs';
import { choose } from './choose.mjs';
import { loadGauge } from './gauges.mjs';
import {
  againstBestPeer,
  bestPeer,
  loadOf,
  measureLoad,
  ours,
  perSecondRatio,
  withFleets,
} from './measure-load.mjs';

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

export async function run(context) {
  const candidates = choose(context.candidates, { ours: ['withLock', 'fair'] });
  return await withFleets(context, { row: id, candidates, processes: 1 }, async (fleets) => {
    const time = await measureLoad(context, fleets, { row: id, ...FIXED_TIME });
    // The other variants add no information: `fair` serves the same turns, and README settings poll less often.
    const working = fleets.filter(({ candidate: { kind, variant } }) =>
      kind === 'ours' ? variant === 'withLock' : variant === 'tuned',
    );
    const work = await measureLoad(context, working, { row: `${id} ${TURNS} turns`, ...FIXED_WORK });
    const peer = bestPeer(time);
    const fair = time.find(({ candidate }) => candidate.variant === 'fair');
    const fairRatio = perSecondRatio(fair, peer);
    return {
      text: [
        loadTable(time, { contended: true }),
        `until each caller had ${TURNS} turns (at most ${FIXED_WORK.durationMs / 1_000} s):\n${loadTable(work, { contended: true })}`,
      ],
      checks: [
        againstBestPeer('', time, GOAL),
        againstBestPeer(`until each caller had ${TURNS} turns: `, work, GOAL),
        information('`fair: true`: ÷ best peer', times(fairRatio), fairRatio),
        information(
          'least- and most-served caller, best peer : ours',
          `${short(peer.turns.least)}–${short(peer.turns.most)} : ${short(ours(time).turns.least)}–${short(ours(time).turns.most)}`,
        ),
      ],
      data: {
        loads: [
          loadOf('', FIXED_TIME, time),
          loadOf(`until each caller had ${TURNS} turns`, FIXED_WORK, work),
        ],
      },
    };
  });
}
