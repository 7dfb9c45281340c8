import { above, atMost, information } from '../report/checks.mjs';
import { loadTable } from '../report/load-table.mjs';
import { short, times } from '../report/numbers.mjs';
import { bestPeer, measureLoad, only, recordOf, withFleets } from './measure-load.mjs';

export const id = 'M13';
export const title = 'a semaphore of 10 with 100 callers, of one process and of 4 × 25';

const LIMIT = 10;
const EMPTY = { rounds: 3, durationMs: 1_000, callers: 100, keysPerCaller: null, sectionMs: 0 };
const WITH_SECTION = { ...EMPTY, sectionMs: 2 };

export async function run(context) {
  const one = await measure(context, 1);
  const four = await measure(context, 4);
  return {
    text: [...one.text, ...four.text],
    checks: [...one.checks, ...four.checks],
    data: { one: one.data, four: four.data },
  };
}

async function measure(context, processes) {
  const where = processes === 1 ? 'one process' : `${processes} processes`;
  const options = { row: id, candidates: context.sharing, processes, sharing: { limit: LIMIT } };
  return await withFleets(context, options, async (fleets) => {
    const empty = await measureLoad(context, fleets, { row: `${id} ${where}, empty`, ...EMPTY });
    const section = await measureLoad(context, fleets, { row: `${id} ${where}, 2 ms`, ...WITH_SECTION });
    const [ours] = only(section, 'ours');
    return {
      text: [
        `${where}, empty section:\n${loadTable(empty, { contended: true, limit: LIMIT })}`,
        `${where}, section of a 2 ms timer (÷ ideal: against ${LIMIT} ÷ the section's measured length):\n${loadTable(section, { contended: true, limit: LIMIT })}`,
      ],
      checks: [
        ...compared(`${where}, empty`, empty),
        ...compared(`${where}, 2 ms`, section),
        atMost(`${where}: most holders at once`, ours.mostAtOnce, LIMIT),
      ],
      data: {
        empty: { plan: EMPTY, candidates: empty.map(recordOf) },
        section: { plan: WITH_SECTION, candidates: section.map(recordOf) },
      },
    };
  });
}

function compared(which, measured) {
  const [[ours], peer] = [only(measured, 'ours'), bestPeer(measured)];
  const ratio = ours.perSecond.median / peer.perSecond.median;
  return [
    above(`${which}: holds/s ÷ best peer, ${peer.candidate.label}`, ratio, 1, { measured: times(ratio) }),
    information(
      `${which}: callers without a turn, best peer : ours`,
      `${peer.turns.withoutAny} : ${ours.turns.withoutAny} (turns ${short(peer.turns.least)}–${short(peer.turns.most)} : ${short(ours.turns.least)}–${short(ours.turns.most)})`,
    ),
  ];
}
