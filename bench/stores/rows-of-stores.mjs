import { above, atLeast, information, mostToLeast } from '../report/checks.mjs';
import { short, times } from '../report/numbers.mjs';
import * as m18 from '../rows/m18-flood.mjs';
import { againstBestPeer, only, ours, perSecondRatio } from '../rows/measure-load.mjs';
import { measureLoads } from '../rows/measure-loads.mjs';

const FREE = { rounds: 7, durationMs: 1_000, callers: 1, keysPerCaller: 1_000, sectionMs: 0 };
const CONTENDED = { rounds: 5, durationMs: 1_500, callers: 100, keysPerCaller: null, sectionMs: 0 };
const WITH_SECTION = { ...CONTENDED, rounds: 3, durationMs: 2_000, sectionMs: 2 };
/** One caller per process, so that each hold passes to the other process. */
const TWO = { ...CONTENDED, callers: 2 };

/** Without the floor, which cannot wait. Under contention, awaiting the release makes no difference. */
const contenders = ({ candidates }) =>
  candidates.filter(({ kind, variant }) => kind !== 'floor' && variant !== 'awaited');

async function free(context) {
  const { candidates, goals } = context;
  const fleets = { row: 'M1', candidates, processes: 1 };
  const { measured, text, loads } = await measureLoads(context, fleets, [{ name: '', plan: FREE }], {
    contended: false,
  });
  const [floor] = only(measured[0], 'floor');
  return {
    text,
    checks: only(measured[0], 'ours').map((line) => {
      const ratio = perSecondRatio(line, floor);
      return atLeast(`${line.candidate.label}: ÷ floor`, ratio, goals.free, { measured: times(ratio) });
    }),
    loads,
  };
}

async function oneProcess(context) {
  const fleets = { row: 'M3', candidates: contenders(context), processes: 1 };
  const { measured, text, loads } = await measureLoads(context, fleets, [{ name: '', plan: CONTENDED }]);
  return { text, checks: [againstBestPeer('', measured[0], 1, above)], loads };
}

async function fourProcesses(context) {
  const fleets = { row: 'M4', candidates: contenders(context), processes: 4 };
  const { measured, text, loads } = await measureLoads(context, fleets, [
    { name: 'empty', plan: CONTENDED },
    { name: '2 ms', plan: WITH_SECTION },
  ]);
  const [empty, section] = measured;
  const { meanSection, perSecond } = ours(section);
  return {
    text,
    checks: [
      againstBestPeer('empty: ', empty, context.goals.fourProcesses),
      mostToLeast('empty', ours(empty).turns, 2),
      information('2 ms: ÷ ideal', short((perSecond.median * meanSection) / 1_000)),
    ],
    loads,
  };
}

async function handOver(context) {
  const fleets = { row: 'M6', candidates: contenders(context), processes: 2 };
  const { measured, text, loads } = await measureLoads(context, fleets, [{ name: '', plan: TWO }]);
  const checks = measured[0].map(({ candidate, perSecond }) =>
    information(`${candidate.label}: from hold to hold`, `${short(1_000 / perSecond.median)} ms`),
  );
  return { text, checks, loads };
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
  m18,
];
