import { once } from 'node:events';
import { setTimeout as elapse } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { spawnTied } from './lifeline.mjs';
import { monotonic } from './monotonic.mjs';
import { Scene } from './scene.mjs';

const script = fileURLToPath(new URL('steady-worker.mjs', import.meta.url));
/** Costs that depend on the length of a lease appear within minutes. */
export const WATCHDOG_TIMEOUT = 10_000;
/** Tombstones of cancelled requests last for two minutes, ms. */
const TIDY = 180_000;
/** The rate of the last minute, relative to the second. */
const LEAST_RATE = 0.95;
/** The least rate even if each hold costs the processes no more: a slower store costs them nothing. */
const LEAST_RATE_AT_SAME_COST = 0.5;
/** Growth that garbage collection alone can cause, bytes. */
const NOISE = 2_000_000;
/** More than the store's own parents and counters, fewer than what one key per call would leave. */
const FEW = 50;

/**
 * Keeps processes busy without faults, then lets them rest for two leases: nothing may slow down or grow, and at rest
 * nothing is written.
 *
 * @param {{ store: string, minutes: number, processes: number, keys: number, callers: number }} options
 * @param {{ program: unknown, log: (line: string) => void }} means `program`: the result of the server's set-up
 * @returns the samples, and a line for each finding
 */
export async function steady({ store, minutes, processes, keys, callers }, { program, log }) {
  const scene = new Scene(store, program);
  const { server } = scene;
  try {
    await server.start({ faults: false });
    const start = await server.census();
    const settings = { store, build: scene.build.entry, url: server.url, callers, keys };
    const workers = await Promise.all(
      Array.from({ length: processes }, (_, id) => startWorker({ ...settings, id })),
    );
    log('minute   holds/s   cpu, µs/hold   heap, MB   timers   entries   writes/s   store, MB');
    const samples = [];
    let last = await sampleOf(workers, server);
    for (let minute = 1; minute <= minutes; minute++) {
      await elapse(last.at + 60_000 - monotonic());
      const now = await sampleOf(workers, server);
      samples.push(rowOf(last, now, minute));
      log(lineOf(samples.at(-1)));
      last = now;
    }
    await ask(workers, 'rest');
    await untilTidy(server);
    const before = await sampleOf(workers, server);
    await elapse(2 * WATCHDOG_TIMEOUT);
    const after = await sampleOf(workers, server);
    const rest = {
      entriesAtStart: start.entries,
      entriesAtRest: after.entries,
      writesAtRest: after.writes - before.writes,
      heap: after.heap,
      timers: after.timers,
      storeBytes: after.bytes,
    };
    log(
      `rest: ${after.entries} entries (${start.entries} at the start), ${rest.writesAtRest} writes in two leases`,
    );
    await ask(workers, 'close');
    return { samples, rest, problems: problemsIn(samples, rest) };
  } finally {
    await scene.close({ keepLogs: false });
  }
}

async function startWorker(settings) {
  const child = spawnTied(
    process.execPath,
    ['--expose-gc', script, JSON.stringify({ ...settings, watchdogTimeout: WATCHDOG_TIMEOUT })],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  await answerOf(child);
  return child;
}

/** @throws when the process ends instead */
async function answerOf(child) {
  const ended = new AbortController();
  try {
    const gone = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
      throw new Error(`a process of the run ended with ${code}`);
    });
    const [{ answer }] = await Promise.race([once(child, 'message', { signal: ended.signal }), gone]);
    return answer;
  } finally {
    ended.abort();
  }
}

function ask(workers, question) {
  return Promise.all(
    workers.map((child) => {
      child.send(question);
      return question === 'close' ? once(child, 'exit') : answerOf(child);
    }),
  );
}

async function sampleOf(workers, server) {
  const parts = await ask(workers, 'sample');
  const sum = (of) => parts.reduce((total, part) => total + of(part), 0);
  const kinds = Object.keys(parts[0].counts);
  return {
    at: monotonic(),
    counts: Object.fromEntries(kinds.map((kind) => [kind, sum(({ counts }) => counts[kind])])),
    heap: sum(({ heap }) => heap),
    timers: sum(({ timers }) => timers),
    cpu: sum(({ cpu }) => cpu),
    ...(await server.census()),
  };
}

const holdsOf = ({ counts: { hot, fresh, shared, permits } }) => hot + fresh + shared + permits;

function rowOf(last, now, minute) {
  const seconds = (now.at - last.at) / 1_000;
  const holds = holdsOf(now) - holdsOf(last);
  return {
    minute,
    rate: holds / seconds,
    rates: Object.fromEntries(
      Object.entries(now.counts).map(([kind, count]) => [kind, (count - last.counts[kind]) / seconds]),
    ),
    cpuPerHold: ((now.cpu - last.cpu) * 1_000) / holds,
    heap: now.heap,
    timers: now.timers,
    entries: now.entries,
    writes: (now.writes - last.writes) / seconds,
    storeBytes: now.bytes,
  };
}

function lineOf({ minute, rate, cpuPerHold, heap, timers, entries, writes, storeBytes }) {
  const megabytes = (bytes) => (bytes === undefined ? '–' : (bytes / 1e6).toFixed(1));
  const columns = [minute, rate.toFixed(0), cpuPerHold.toFixed(1), megabytes(heap), timers, entries];
  const more = [writes.toFixed(0), megabytes(storeBytes)];
  const widths = [6, 10, 15, 11, 9, 10, 11, 12];
  return [...columns, ...more].map((column, index) => String(column).padStart(widths[index])).join('');
}

/** Waits until nothing was written for a lease: leftovers of the load expire or are swept in the background. */
async function untilTidy(server) {
  const end = monotonic() + TIDY;
  for (let last, now = await server.census(); last !== now.writes && monotonic() < end;) {
    last = now.writes;
    await elapse(WATCHDOG_TIMEOUT);
    now = await server.census();
  }
}

/**
 * @param {readonly { rate: number, cpuPerHold: number, heap: number, timers: number, entries: number }[]} samples one for each minute
 * @param {{ entriesAtStart: number, entriesAtRest: number, writesAtRest: number }} rest
 * @returns {string[]} a line for each finding
 */
export function problemsIn(samples, rest) {
  const problems = [];
  const last = samples.at(-1);
  // In the first minute code is compiled and buffers grow.
  const first = samples.length > 2 ? samples[1] : samples[0];
  const percent = (share) => `${(share * 100).toFixed(0)} %`;
  const rate = last.rate / first.rate;
  const cpu = last.cpuPerHold / first.cpuPerHold;
  // On a shared machine there are fewer holds a second, but each costs the same.
  if (rate < LEAST_RATE_AT_SAME_COST || (rate < LEAST_RATE && cpu > 1 / LEAST_RATE)) {
    problems.push(
      `the last minute made ${percent(rate)} of the holds of the second, each for ${percent(cpu)} of the processor time`,
    );
  }
  const heap = last.heap - first.heap;
  if (heap > NOISE + first.heap * 0.1) problems.push(`the heaps grew by ${(heap / 1e6).toFixed(1)} MB`);
  if (last.timers > first.timers * 1.5 + 20) {
    problems.push(`timers grew from ${first.timers} to ${last.timers}`);
  }
  // Entries that a store sweeps now and then differ from one moment to the next: growth shows in all later samples.
  const warm = samples.length > 2 ? samples.slice(1) : samples;
  const entries = warm.map((sample) => sample.entries);
  const half = Math.floor(entries.length / 2);
  const [most, least] = [Math.max(...entries.slice(0, half)), Math.min(...entries.slice(half))];
  if (half > 0 && least > most * 1.5 + FEW) {
    problems.push(`what the store keeps under load grew from at most ${most} to at least ${least} entries`);
  }
  if (rest.entriesAtRest > rest.entriesAtStart + FEW) {
    problems.push(`${rest.entriesAtRest - rest.entriesAtStart} entries were left in the store`);
  }
  if (rest.writesAtRest > 0) problems.push(`${rest.writesAtRest} writes at rest`);
  return problems;
}
