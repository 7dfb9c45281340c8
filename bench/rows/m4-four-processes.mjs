import { atLeast, atMost } from '../report/checks.mjs';
import { loadTable } from '../report/load-table.mjs';
import { percent, short, times } from '../report/numbers.mjs';
import { bestPeer, measureLoad, only, recordOf, withFleets } from './measure-load.mjs';

export const id = 'M4';
export const title = '4 processes × 25 callers on one key';

const EMPTY = { rounds: 5, durationMs: 1_000, callers: 100, keysPerCaller: null, sectionMs: 0 };
/** Longer, so that turns are many enough to be compared. */
const WITH_SECTION = { ...EMPTY, rounds: 3, durationMs: 2_000, sectionMs: 2 };

export async function run(context) {
  const candidates = context.candidates.filter(({ kind }) => kind !== 'floor');
  return await withFleets(context, { row: id, candidates, processes: 4 }, async (fleets) => {
    const empty = await measureLoad(context, fleets, { row: `${id} empty`, ...EMPTY });
    const section = await measureLoad(context, fleets, { row: `${id} 2 ms`, ...WITH_SECTION });
    const [[ours], peer] = [only(empty, 'ours'), bestPeer(empty)];
    const [oursWithSection] = only(section, 'ours');
    const ratio = ours.perSecond.median / peer.perSecond.median;
    const ideal = 1_000 / oursWithSection.meanSection;
    const share = oursWithSection.perSecond.median / ideal;
    return {
      text: [
        `empty section:\n${loadTable(empty, { contended: true })}`,
        `section of a 2 ms timer (÷ ideal: against 1 ÷ the section's measured length):\n${loadTable(section, { contended: true })}`,
      ],
      checks: [
        atLeast(`empty: holds/s ÷ best peer, ${peer.candidate.label}`, ratio, 5, { measured: times(ratio) }),
        fairness('empty', ours),
        atLeast(
          `2 ms: ÷ ideal of ${short(ideal)}/s (÷ 500/s: ${percent(oursWithSection.perSecond.median / 500)})`,
          share,
          0.9,
        ),
        fairness('2 ms', oursWithSection),
      ],
      data: {
        empty: { plan: EMPTY, candidates: empty.map(recordOf) },
        section: { plan: WITH_SECTION, candidates: section.map(recordOf) },
      },
    };
  });
}

function fairness(which, { turns }) {
  const result = atMost(`${which}: most- ÷ least-served caller`, turns.ratio, 1.2, {
    measured: `${short(turns.ratio)} (${short(turns.least)}–${short(turns.most)})`,
  });
  return turns.withoutAny === 0
    ? result
    : { ...result, verdict: `missed: ${turns.withoutAny} callers had no turn` };
}
