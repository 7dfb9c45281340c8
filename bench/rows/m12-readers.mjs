import { above, atLeast, information } from '../report/checks.mjs';
import { loadTable } from '../report/load-table.mjs';
import { short, times } from '../report/numbers.mjs';
import { bestPeer, measureLoad, only, recordOf, withFleets } from './measure-load.mjs';

export const id = 'M12';
export const title = '100 readers of one process on one key';

const READERS = 100;
const SHARING = { mode: 'shared' };
const EMPTY = { rounds: 5, durationMs: 1_000, callers: READERS, keysPerCaller: null, sectionMs: 0 };
/** Shows that they do hold it together. */
const WITH_SECTION = { ...EMPTY, rounds: 3, sectionMs: 2 };

/** The peer has no readers; its semaphore with room for all of them is the nearest. */
export async function run(context) {
  const options = { row: id, candidates: context.sharing, processes: 1, sharing: SHARING };
  return await withFleets(context, options, async (fleets) => {
    const empty = await measureLoad(context, fleets, { row: `${id} empty`, ...EMPTY });
    const section = await measureLoad(context, fleets, { row: `${id} 2 ms`, ...WITH_SECTION });
    const [oursWithSection] = only(section, 'ours');
    const table = { contended: true, limit: READERS };
    return {
      text: [
        `empty section:\n${loadTable(empty, table)}`,
        `section of a 2 ms timer (÷ ideal: against ${READERS} ÷ the section's measured length):\n${loadTable(section, table)}`,
      ],
      checks: [
        ...compared('empty', empty),
        ...compared('2 ms', section),
        atLeast('2 ms: most readers at once', oursWithSection.mostAtOnce, READERS),
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
    above(`${which}: holds/s ÷ best peer, a semaphore of ${peer.candidate.label}`, ratio, 1, {
      measured: times(ratio),
    }),
    information(
      `${which}: turns, best peer : ours`,
      `${short(peer.turns.least)}–${short(peer.turns.most)} : ${short(ours.turns.least)}–${short(ours.turns.most)}`,
    ),
  ];
}
