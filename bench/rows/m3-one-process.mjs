import { atLeast, information } from '../report/checks.mjs';
import { loadTable } from '../report/load-table.mjs';
import { short, times } from '../report/numbers.mjs';
import { bestPeer, measureLoad, only, recordOf, withFleets } from './measure-load.mjs';

export const id = 'M3';
export const title = '100 callers of one process on one key, empty section';

const GOAL = 30;
const TURNS = 20;
const FIXED_TIME = { rounds: 5, durationMs: 1_000, callers: 100, keysPerCaller: null, sectionMs: 0 };
/** Ends with the last caller, so nothing is gained by serving one caller while the others sleep. */
const FIXED_WORK = { ...FIXED_TIME, durationMs: 2_000, turnsPerCaller: TURNS, leadMs: 200 };

export async function run(context) {
  const candidates = context.candidates.filter(({ kind }) => kind !== 'floor');
  return await withFleets(context, { row: id, candidates, processes: 1 }, async (fleets) => {
    const time = await measureLoad(context, fleets, { row: id, ...FIXED_TIME });
    const work = await measureLoad(context, fleets, { row: `${id} ${TURNS} turns`, ...FIXED_WORK });
    const [[ours], peer] = [only(time, 'ours'), bestPeer(time)];
    const ratio = ours.perSecond.median / peer.perSecond.median;
    const [[oursAtWork], peerAtWork] = [only(work, 'ours'), bestPeer(work)];
    const ratioAtWork = oursAtWork.perSecond.median / peerAtWork.perSecond.median;
    return {
      text: [
        loadTable(time, { contended: true }),
        `until each caller had ${TURNS} turns (at most ${FIXED_WORK.durationMs / 1_000} s):\n${loadTable(work, { contended: true })}`,
      ],
      checks: [
        atLeast(`holds/s ÷ best peer, ${peer.candidate.label}`, ratio, GOAL, { measured: times(ratio) }),
        atLeast(
          `the same until each caller had ${TURNS} turns ÷ best peer, ${peerAtWork.candidate.label}`,
          ratioAtWork,
          GOAL,
          { measured: times(ratioAtWork) },
        ),
        information(
          'callers without a turn, best peer : ours',
          `${peer.turns.withoutAny} : ${ours.turns.withoutAny} (turns ${short(peer.turns.least)}–${short(peer.turns.most)} : ${short(ours.turns.least)}–${short(ours.turns.most)})`,
        ),
      ],
      data: {
        fixedTime: { plan: FIXED_TIME, candidates: time.map(recordOf) },
        fixedWork: { plan: FIXED_WORK, candidates: work.map(recordOf) },
      },
    };
  });
}
