import { elapse } from '../harness/clock.mjs';
import { Fleet } from '../harness/fleet.mjs';
import { mean, median, sum } from '../harness/statistics.mjs';
import { atMost, information } from '../report/checks.mjs';
import { short } from '../report/numbers.mjs';
import { fleetTables } from '../report/scaling-page.mjs';
import { table } from '../report/table.mjs';

export const id = 'M16';
export const title = 'fleets: 1 to 64 processes, keys ever used, locks held at once';

/** More than this, of memory or of processor time per hold, counts as growth. */
const NOISE = 1.1;
/** Processes whose requests per hold those of a larger fleet are compared with. */
const FEW = 4;
const CALLERS_EACH = 10;
const KB = 1_000;

/** How long the store may take to remove what a load leaves behind, ms: tombstones of requests in doubt last for 60 s. */
const SETTLE_MS = 75_000;
/** For how long its entries stay unchanged at most while it removes some, ms. */
const QUIET_MS = 3_500;
const LOOK_EVERY_MS = 250;
/** For a load after another one, of each process; five times that for the first load, which compiles most of the code. */
const WARM_UP_MS = 80;
/** In which all processes of a fleet start to wait. */
const LEAD_MS = 500;
/** A renewal round of the default lease, ms. */
const RENEWAL_MS = 10_000;

/** The loads of fleets. `longer`: where holds are few. */
const LOADS = [
  { name: 'own keys', plan: { keysPerCaller: 100, sectionMs: 0 } },
  { name: '100 keys', plan: { keysPerCaller: null, sharedKeys: 100, sectionMs: 0 } },
  { name: 'one key', plan: { keysPerCaller: null, sectionMs: 0 } },
  { name: 'one key, 2 ms', plan: { keysPerCaller: null, sectionMs: 2 }, longer: 2 },
];

/**
 * @typedef {object} Scale
 * @property {number[]} sizes numbers of processes, in ascending order
 * @property {number} keys used one after another, by so many callers as `keyCallers`
 * @property {number} keyCallers
 * @property {number} segments of these keys, to compare the last with the first
 * @property {number} held locks held at once
 * @property {number} durationMs of a load
 * @property {number} warmUpTurns of each caller, with each load
 */

/** Every load in small, as a smoke test. */
export const QUICK = {
  sizes: [1, 2],
  keys: 900,
  keyCallers: 20,
  segments: 3,
  held: 1_000,
  durationMs: 300,
  warmUpTurns: 20,
};

/**
 * @param {object} context `title`: of the store; `requests`: the counter of requests of clients; `candidate`, `scale`, `stats`, `url`
 *   and `progress` as elsewhere
 */
export async function run(context) {
  const keys = await withFleet(context, 1, (fleet) => useManyKeys(context, fleet));
  const largest = Math.max(...context.scale.sizes);
  const held = await withFleet(context, Math.min(FEW, largest), (fleet) => holdMany(context, fleet));
  const growth = await withFleet(context, 1, (fleet) => grow(context, fleet));
  const fleets = { keys: keys.figures, held: held.figures, growth: growth.figures };
  return {
    text: fleetTables([{ name: context.title, fleets }]).map(({ head, lines }) => table(head, lines)),
    checks: [...keys.checks, ...held.checks, ...growth.checks],
    fleets,
  };
}

async function withFleet({ candidate, url, progress }, processes, use) {
  const fleet = new Fleet(candidate, processes, url, undefined, ['--expose-gc']);
  try {
    progress(id, `starting ${processes} process${processes === 1 ? '' : 'es'}`);
    await fleet.open();
    return await use(fleet);
  } finally {
    await fleet.close();
  }
}

/** Runs a load. Does not empty the store: what is left behind is what this row looks for. */
async function load({ stats }, fleet, plan) {
  const keeping = {
    empty: async () => undefined,
    reset: () => stats.reset(),
    counts: () => stats.counts(),
    processorMs: () => stats.processorMs(),
  };
  return await fleet.run({ durationMs: 120_000, drainMs: 10_000, ...plan }, keeping);
}

/** What processes and store occupy. */
async function occupied({ stats }, fleet) {
  const processes = await fleet.each('memory');
  const store = await stats.size();
  return {
    heap: median(processes.map(({ heapUsed }) => heapUsed)),
    rss: median(processes.map(({ rss }) => rss)),
    store,
  };
}

/** The same after a load, once the store has no more entries than before it, or else as soon as their number stays the same. */
async function settled(context, fleet, entriesBefore) {
  const { stats } = context;
  const startedAt = performance.now();
  let last = Infinity;
  for (let steady = 0; performance.now() - startedAt < SETTLE_MS; await elapse(LOOK_EVERY_MS)) {
    const { entries } = await stats.size();
    if (entriesBefore !== undefined && entries <= entriesBefore) break;
    steady = entries === last ? steady + 1 : 0;
    last = entries;
    if (entriesBefore === undefined && steady * LOOK_EVERY_MS >= QUIET_MS) break;
  }
  return await occupied(context, fleet);
}

/** One process that uses each key once. */
async function useManyKeys(context, fleet) {
  const { scale, progress } = context;
  const turnsPerCaller = Math.ceil(scale.keys / scale.keyCallers / scale.segments);
  const plan = { callers: scale.keyCallers, keysPerCaller: Infinity, sectionMs: 0, turnsPerCaller };
  // Compiles the code, and fills buffers and pages that are kept.
  await load(context, fleet, plan);
  const before = await settled(context, fleet);
  const segments = [];
  for (let index = 1; index <= scale.segments; index++) {
    const { perSecond, served, micros } = await load(context, fleet, plan);
    segments.push({ perSecond, served, ...micros });
    progress(
      id,
      `${short(index * turnsPerCaller * scale.keyCallers)} keys, ${short(perSecond)}/s, µs per hold: ` +
        `process ${short(micros.client)}, store ${short(micros.server)}`,
    );
  }
  const after = await settled(context, fleet, before.store.entries);
  const figures = {
    used: sum(segments.map(({ served }) => served)),
    perSecond: median(segments.map(({ perSecond }) => perSecond)),
    micros: firstAndLast(segments.map(({ client, server }) => client + server)),
    before,
    after,
  };
  const where = `${short(figures.used)} keys, each used once`;
  const [first, last] = figures.micros;
  const checks = [
    atMost(`${where}: processor time per hold, last third ÷ first third`, last / first, NOISE),
    information(`${where}: holds/s`, short(figures.perSecond)),
    ...backChecks(where, before, after),
  ];
  return { figures, checks };
}

/** The mean of the first and of the last third. */
function firstAndLast(values) {
  const third = Math.max(1, Math.floor(values.length / 3));
  return [values.slice(0, third), values.slice(-third)].map(mean);
}

function backChecks(where, before, after) {
  const more = Math.max(0, after.store.entries - before.store.entries);
  return [
    atMost(`${where}: heap of a process afterwards ÷ before`, after.heap / before.heap, NOISE),
    atMost(`${where}: entries in the store more than before`, more, 0),
    information(
      `${where}: KB in the store before and afterwards`,
      `${short(before.store.bytes / KB)}, ${short(after.store.bytes / KB)}`,
    ),
  ];
}

/** A few processes that hold many locks at once, through one renewal round. */
async function holdMany(context, fleet) {
  const { stats, scale, requests, progress } = context;
  const { processes } = fleet;
  await load(context, fleet, { callers: processes * 10, keysPerCaller: 10, sectionMs: 0, durationMs: 500 });
  const before = await settled(context, fleet);
  const each = Math.ceil(scale.held / processes);
  const count = each * processes;
  const startedAt = performance.now();
  await fleet.each('hold', 'held', each);
  const acquireMs = performance.now() - startedAt;
  progress(id, `${short(count)} locks held`);
  const full = await occupied(context, fleet);
  const processor = async () => [sum(await fleet.each('processorMs')), await stats.processorMs()];
  const used = await processor();
  await stats.reset();
  progress(id, `a renewal round of ${RENEWAL_MS / 1_000} s`);
  await elapse(RENEWAL_MS);
  const counts = await stats.counts();
  const [clientMs, serverMs] = (await processor()).map((ms, side) => ms - used[side]);
  const stillThere = (await stats.size()).entries - before.store.entries;
  const lost = sum(await fleet.each('release'));
  const after = await settled(context, fleet, before.store.entries);
  const figures = {
    count,
    acquireMs,
    lost: Math.max(lost, count - stillThere),
    bytesEach: {
      process: ((full.heap - before.heap) * processes) / count,
      store: (full.store.bytes - before.store.bytes) / count,
    },
    renewal: { requests: counts[requests], clientMs, serverMs },
  };
  const where = `${short(count)} held at once`;
  const { bytesEach, renewal } = figures;
  const checks = [
    atMost(`${where}: lost`, figures.lost, 0),
    information(
      `${where}: KB each, process and store`,
      `${short(bytesEach.process / KB)}, ${short(bytesEach.store / KB)}`,
    ),
    information(`${where}: requests per renewal round`, short(renewal.requests)),
    ...backChecks(where, before, after),
  ];
  return { figures, checks };
}

/** More and more processes, and more callers in a few of them. */
async function grow(context, fleet) {
  const { scale } = context;
  const steps = [];
  const figures = [];
  let failed = 0;
  let before;
  for (const processes of scale.sizes) {
    const isLargest = processes === Math.max(...scale.sizes);
    await fleet.growTo(processes);
    for (const { plan } of LOADS) await warmUp(context, fleet, plan);
    if (isLargest) before = await settled(context, fleet);
    for (const one of LOADS) steps.push(await stepOf(context, fleet, one, CALLERS_EACH));
    if (processes === FEW) steps.push(await stepOf(context, fleet, LOADS[2], 1));
    const callers = processes * CALLERS_EACH;
    const turns = await load(context, fleet, { ...LOADS[3].plan, callers, turnsPerCaller: 1 });
    failed += turns.failed;
    const { rss, store } = await occupied(context, fleet);
    const measured = steps.filter((one) => one.processes === processes && one.callersEach === CALLERS_EACH);
    figures.push({
      processes,
      callersEach: CALLERS_EACH,
      loads: Object.fromEntries(
        measured.map(({ load: name, perSecond, requests }) => [name, { perSecond, requests }]),
      ),
      turnsTookMs: turns.tookMs,
      rss,
      connections: store.connections,
    });
  }
  const after = await settled(context, fleet, before.store.entries);
  failed += sum(steps.map((step) => step.failed));
  return { figures, checks: growthChecks({ steps, failed, before, after }) };
}

/** The larger the fleet the longer, since each process has to compile its code before it is measured. */
async function warmUp(context, fleet, plan) {
  const { scale } = context;
  const { processes } = fleet;
  const turnsPerCaller = plan.sectionMs === 0 ? scale.warmUpTurns : 1;
  const isFirst = plan === LOADS[0].plan;
  const durationMs = 1_000 + WARM_UP_MS * processes * (isFirst ? 5 : 1);
  await load(context, fleet, { ...plan, callers: processes * CALLERS_EACH, turnsPerCaller, durationMs });
}

async function stepOf(context, fleet, { name, plan, longer = 1 }, callersEach) {
  const { scale, requests, progress } = context;
  const { processes } = fleet;
  const callers = processes * callersEach;
  const leadMs = Math.min(LEAD_MS, scale.durationMs) * longer;
  const durationMs = leadMs + scale.durationMs * longer;
  const result = await load(context, fleet, { ...plan, callers, leadMs, durationMs });
  const { perSecond, failed, commands, errors } = result;
  const perHold = commands[requests];
  progress(
    id,
    `${processes} × ${callersEach} callers, ${name}: ${short(perSecond)}/s, ${short(perHold)} requests per hold` +
      (failed > 0 ? `, ${failed} failed: ${errors.join(' ')}` : ''),
  );
  return { load: name, processes, callersEach, perSecond, failed, requests: perHold };
}

/** @returns {import('../report/checks.mjs').Check[]} */
function growthChecks({ steps, failed, before, after }) {
  const largest = Math.max(...steps.map(({ processes }) => processes));
  const of = (name, processes, callersEach = CALLERS_EACH) =>
    steps.find(
      (step) => step.load === name && step.processes === processes && step.callersEach === callersEach,
    );
  const where = `${largest} processes × ${CALLERS_EACH} callers`;
  return [
    ...(of('one key', FEW, 1) === undefined ? [] : requestChecks(where, largest, of)),
    atMost(`${where}: failed`, failed, 0),
    ...backChecks(where, before, after),
  ];
}

/** Requests per hold must not grow with the processes, but for the heartbeat that each waiting process sends once a second. */
function requestChecks(where, largest, of) {
  const [few, many] = [FEW, largest].map((processes) => of('one key', processes));
  const [workOfFew, workOfMany] = [FEW, largest].map((processes) => of('one key, 2 ms', processes));
  const spread = of('100 keys', largest);
  const passed = of('one key', FEW, 1);
  const withoutHeartbeats = ({ requests, processes, perSecond }) => requests - (processes - 1) / perSecond;
  const [paidByFew, paidByMany] = [workOfFew, workOfMany].map(withoutHeartbeats);
  const check = (what, value, goal) =>
    atMost(what, value / goal, NOISE, {
      measured: `${short(value / goal)} (${short(goal)} → ${short(value)})`,
    });
  return [
    check(`${where}, one key: requests per hold ÷ those of ${FEW} processes`, many.requests, few.requests),
    check(
      `${where}, 100 keys: requests per hold ÷ those of a lock that goes from process to process`,
      spread.requests,
      passed.requests,
    ),
    check(
      `${where}, one key, 2 ms: requests per hold without heartbeats ÷ those of ${FEW} processes`,
      paidByMany,
      paidByFew,
    ),
    information(`${where}, one key, 2 ms: requests per hold with heartbeats`, short(workOfMany.requests)),
    information(`${where}, own keys: requests per hold`, short(of('own keys', largest).requests)),
  ];
}
