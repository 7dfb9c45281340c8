import { above, atLeast, information, mostToLeast } from '../report/checks.mjs';
import { loadTable } from '../report/load-table.mjs';
import { short, times } from '../report/numbers.mjs';
import {
  bestPeer,
  loadOf,
  measureLoad,
  only,
  ours,
  perSecondRatio,
  withFleets,
} from '../rows/measure-load.mjs';

const FREE = { rounds: 7, durationMs: 1_000, callers: 1, keysPerCaller: 1_000, sectionMs: 0 };
const CONTENDED = { rounds: 5, durationMs: 1_500, callers: 100, keysPerCaller: null, sectionMs: 0 };
const WITH_SECTION = { ...CONTENDED, rounds: 3, durationMs: 2_000, sectionMs: 2 };
/** One caller per process, so that each hold passes to the other process. */
const TWO = { ...CONTENDED, callers: 2 };

const against = (what, measured, goal) => {
  const peer = bestPeer(measured);
  const ratio = perSecondRatio(ours(measured), peer);
  return atLeast(`${what}÷ best of the others, ${peer.candidate.label}`, ratio, goal, {
    measured: times(ratio),
  });
};

/** Without the floor, which cannot wait. Under contention, awaiting the release makes no difference. */
const contenders = ({ candidates }) =>
  candidates.filter(({ kind, variant }) => kind !== 'floor' && variant !== 'awaited');

async function free(context) {
  const { candidates, costs, goals } = context;
  const measured = await withFleets(context, { row: 'M1', candidates, processes: 1 }, (fleets) =>
    measureLoad(context, fleets, { row: 'M1', ...FREE }),
  );
  const [floor] = only(measured, 'floor');
  return {
    text: [loadTable(measured, { contended: false, costs })],
    checks: only(measured, 'ours').map((line) => {
      const ratio = perSecondRatio(line, floor);
      return atLeast(`${line.candidate.label}: ÷ floor`, ratio, goals.free, { measured: times(ratio) });
    }),
    data: { loads: [loadOf('', FREE, measured)] },
  };
}

async function oneProcess(context) {
  const fleets = { row: 'M3', candidates: contenders(context), processes: 1 };
  const measured = await withFleets(context, fleets, (opened) =>
    measureLoad(context, opened, { row: 'M3', ...CONTENDED }),
  );
  const ratio = perSecondRatio(ours(measured), bestPeer(measured));
  return {
    text: [loadTable(measured, { contended: true, costs: context.costs })],
    checks: [above('÷ best of the others', ratio, 1, { measured: times(ratio) })],
    data: { loads: [loadOf('', CONTENDED, measured)] },
  };
}

async function fourProcesses(context) {
  const fleets = { row: 'M4', candidates: contenders(context), processes: 4 };
  return await withFleets(context, fleets, async (opened) => {
    const empty = await measureLoad(context, opened, { row: 'M4 empty', ...CONTENDED });
    const section = await measureLoad(context, opened, { row: 'M4 2 ms', ...WITH_SECTION });
    const { costs, goals } = context;
    const ideal = 1_000 / ours(section).meanSection;
    return {
      text: [
        `empty section:\n${loadTable(empty, { contended: true, costs })}`,
        `section of a 2 ms timer (÷ ideal: against 1 ÷ the section's measured length):\n${loadTable(section, { contended: true, costs })}`,
      ],
      checks: [
        against('empty: ', empty, goals.fourProcesses),
        mostToLeast('empty', ours(empty).turns, 2),
        information('2 ms: ÷ ideal', short(ours(section).perSecond.median / ideal)),
      ],
      data: { loads: [loadOf('empty', CONTENDED, empty), loadOf('2 ms', WITH_SECTION, section)] },
    };
  });
}

async function handOver(context) {
  const fleets = { row: 'M6', candidates: contenders(context), processes: 2 };
  const measured = await withFleets(context, fleets, (opened) =>
    measureLoad(context, opened, { row: 'M6', ...TWO }),
  );
  return {
    text: [loadTable(measured, { contended: true, costs: context.costs })],
    checks: measured.map(({ candidate, perSecond }) =>
      information(`${candidate.label}: from hold to hold`, `${short(1_000 / perSecond.median)} ms`),
    ),
    data: { loads: [loadOf('', TWO, measured)] },
  };
}

export const ROWS = [
  { id: 'M1', title: 'one caller, free locks, one key after another', run: free },
  { id: 'M3', title: '100 callers of one process on one key, empty section', run: oneProcess },
  { id: 'M4', title: '4 processes × 25 callers on one key', run: fourProcesses },
  {
    id: 'M6',
    title: '2 processes × 1 caller on one key: each hold passes to the other process',
    run: handOver,
  },
];
