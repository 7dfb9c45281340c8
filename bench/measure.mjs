import { candidatesOf, ON_REDIS } from './candidates/candidates.mjs';
import { killAllActors } from './harness/actor.mjs';
import { exitOnSignals } from './harness/exit-on-signals.mjs';
import { openServer as openRedis } from './harness/server.mjs';
import { describeMachine, measuredCommit } from './machine.mjs';
import { WRITTEN, writePages } from './report/pages.mjs';
import { saveResults, saveRows } from './report/results.mjs';
import { runRows } from './report/run-rows.mjs';
import * as m16 from './rows/m16-fleets.mjs';
import { ROWS } from './rows/rows.mjs';
import * as etcd from './stores/etcd.mjs';
import * as postgres from './stores/postgres.mjs';
import { ROWS as ROWS_OF_STORES } from './stores/rows-of-stores.mjs';
import * as zookeeper from './stores/zookeeper.mjs';

const SCALE = { sizes: [1, 4, 16, 64], keyCallers: 200, segments: 10, durationMs: 2_000 };
const fleetsOn = (file, held) => ({
  file,
  requests: 'requests',
  scale: { ...SCALE, keys: 50_000, held, warmUpTurns: 200 },
});

/**
 * The stores, by name. Those other than Redis are modules with
 *
 * - `title`: the name of the store in the output;
 * - `candidates`: files in `candidates/`: the floor, this library, and the lock that users of the server have or write by hand;
 * - `goals`: how many times better this library must be, see `rows-of-stores.mjs`;
 * - `costs`: columns, as pairs of a title and the counter of `stats.counts()` to show per hold;
 * - `openServer(programs)`: `{ url, stats, stop }`; `stats` is like `harness/server.mjs`, with the store's counters.
 *
 * `fleets` is for M16, which takes about three minutes on each: stores that write to a disk use fewer keys and hold fewer locks.
 *
 * - `file` in `candidates/` of this library with that store;
 * - `requests`: the counter of `stats.counts()` of what processes send.
 */
const STORES = {
  redis: {
    title: 'Redis',
    openServer: openRedis,
    candidates: ON_REDIS,
    fleets: {
      file: 'ours',
      requests: 'scripts',
      scale: { ...SCALE, keys: 1_000_000, held: 100_000, warmUpTurns: 300 },
    },
  },
  postgres: { ...postgres, fleets: fleetsOn('postgres-ours', 50_000) },
  etcd: { ...etcd, fleets: fleetsOn('etcd-ours', 20_000) },
  zookeeper: { ...zookeeper, fleets: fleetsOn('zookeeper-ours', 20_000) },
};

/** Opens the server of a store, which ends with this process. */
async function open(store, programs) {
  const { title, openServer } = STORES[store];
  const { stats, url, stop } = await openServer(programs);
  process.once('exit', () => {
    killAllActors();
    stop?.();
  });
  exitOnSignals();
  const machine = { ...describeMachine(undefined), [store]: await stats.version() };
  const { processor, cores, system, node } = machine;
  console.log(`${title} ${machine[store]} · ${processor} · ${cores} cores · ${system} · Node ${node}`);
  return { stats, url, machine, commit: measuredCommit() };
}

/**
 * Measures and prints rows on a store, and writes the results if requested.
 *
 * @param {unknown} programs what `openServer` of the store needs
 */
export async function measureRows({ store = 'redis', rows, quick, write }, programs, log) {
  const { stats, url, machine, commit } = await open(store, programs);
  const { candidates: files, goals, costs } = STORES[store];
  const candidates = (await Promise.all(files.map(candidatesOf))).flat();
  const contextOf = (id) => {
    // Both settings of a peer run the same code, so a quick run needs both only once.
    const few = quick && store === 'redis' && id !== 'M1';
    const chosen = candidates.filter(({ kind, variant }) => !few || kind !== 'peer' || variant === 'tuned');
    const exclusive = chosen.filter(({ kind }) => kind !== 'ideal');
    const sharing = chosen.filter(({ shares }) => shares);
    return { url, stats, candidates: exclusive, sharing, goals, costs };
  };
  const wanted = (store === 'redis' ? ROWS : ROWS_OF_STORES).filter(({ id }) => rows.includes(id));
  const results = await runRows(wanted, { contextOf, commit, machine, quick }, log);
  if (!write) return;
  console.log(`written to ${saveRows(store, results)}, ${WRITTEN}`);
  await writePages();
}

/**
 * Measures and prints M16 on a store. Writes the results if requested.
 *
 * @param {unknown} programs what `openServer` of the store needs
 */
export async function measureFleets({ store = 'redis', quick, write }, programs, log) {
  const { stats, url, machine, commit } = await open(store, programs);
  const { file, scale, ...rest } = STORES[store].fleets;
  const candidate = (await candidatesOf(file)).find(({ variant }) => variant === 'withLock');
  const { title } = STORES[store];
  const context = { ...rest, title, url, stats, candidate, scale: quick ? m16.QUICK : scale };
  const [fleets] = await runRows([m16], { contextOf: () => context, commit, machine, quick }, log);
  if (!write) return;
  console.log(`written to ${saveResults(store, { fleets })}, ${WRITTEN}`);
  await writePages();
}
