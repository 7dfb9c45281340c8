import { atMost } from '../report/checks.mjs';
import { percent, short } from '../report/numbers.mjs';
import { choose } from './choose.mjs';
import { loadGauge } from './gauges.mjs';
import { ours } from './measure-load.mjs';
import { measureLoads } from './measure-loads.mjs';

export const id = 'M5';
export const title = '4 processes on one key, 10, 100 and 1 000 callers in all';

const CALLERS = [10, 100, 1_000];
const SECTIONS = [0, 2];
const PROCESSES = 4;
const PLAN = { rounds: 2, durationMs: 500, keysPerCaller: null };
const FLAT = 0.1;

export const gauges = [
  loadGauge({
    what: '1 000 callers, empty',
    use: 'ours:withLock',
    processes: PROCESSES,
    plan: { ...PLAN, callers: 1_000, sectionMs: 0 },
  }),
];

export async function run(context) {
  // Only the tuned peers, since each candidate starts four processes.
  const candidates = choose(context.candidates, { peers: 'tuned' });
  const plans = SECTIONS.flatMap((sectionMs) => CALLERS.map((callers) => ({ ...PLAN, callers, sectionMs })));
  const { measured, text, loads } = await measureLoads(
    context,
    { row: id, candidates, processes: PROCESSES },
    plans.map((plan, index) => ({
      name: `${nameOf(plan.sectionMs)}, ${plan.callers} callers`,
      // One warm-up suffices, since the processes stay the same.
      plan: { ...plan, warmUpMs: index === 0 ? 300 : 0 },
    })),
  );
  const checks = SECTIONS.flatMap((sectionMs) => {
    const lines = measured.filter((_, index) => plans[index].sectionMs === sectionMs).map(ours);
    return [
      flat(`${nameOf(sectionMs)}: commands and messages per hold`, lines.map(commandsPerHold)),
      flat(`${nameOf(sectionMs)}: time per hold, ms`, lines.map(timePerHold)),
    ];
  });
  return { text, checks, loads };
}

const nameOf = (sectionMs) => (sectionMs === 0 ? 'empty section' : `${sectionMs} ms section`);
const commandsPerHold = ({ commands }) => commands.scripts + commands.publish + commands.others;
const timePerHold = ({ perSecond }) => (perSecond.median === 0 ? NaN : 1_000 / perSecond.median);

/** Compares the figures for more callers with those for the fewest. They must not grow. */
function flat(what, [few, ...more]) {
  const changes = more.map((value) => value / few - 1);
  const furthest = changes.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
  const growth = Math.max(...changes);
  const figures = [few, ...more].map(short).join(' → ');
  const result = atMost(what, Math.abs(furthest), FLAT, {
    measured: `${figures} (${furthest < 0 ? '−' : '+'}${percent(Math.abs(furthest))})`,
  });
  const falls = !result.reached && growth <= FLAT;
  return {
    ...result,
    goal: '± 10 %',
    reached: result.reached || falls,
    verdict: falls ? 'reached: it falls' : result.reached ? 'reached' : `missed: grows by ${percent(growth)}`,
  };
}
