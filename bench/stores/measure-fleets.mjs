import { candidatesOf } from '../candidates/candidates.mjs';
import { killAllActors } from '../harness/actor.mjs';
import { exitOnSignals } from '../harness/exit-on-signals.mjs';
import { openServer as openRedis } from '../harness/server.mjs';
import { describeMachine, measuredCommit } from '../machine.mjs';
import { WRITTEN, writeFleets } from '../report/results-file.mjs';
import { runRows } from '../report/run-rows.mjs';
import * as m16 from '../rows/m16-fleets.mjs';
import * as etcd from './etcd.mjs';
import * as postgres from './postgres.mjs';
import * as zookeeper from './zookeeper.mjs';

const SCALE = { sizes: [1, 4, 16, 64], keyCallers: 200, segments: 10, durationMs: 2_000 };
const WRITES = [['writes/hold', ({ writes }) => writes]];

/**
 * The stores of M16, by name. Each takes about three minutes: stores that write to a disk use fewer keys and hold fewer locks.
 *
 * - `file` in `candidates/` of this library with that store;
 * - `requests`: the counter of `stats.counts()` of what processes send;
 * - `costs`: further columns, per hold.
 */
const STORES = {
  redis: {
    title: 'Redis',
    file: 'ours',
    openServer: openRedis,
    requests: 'scripts',
    costs: [
      ['messages/hold', ({ publish }) => publish],
      ['commands/hold', ({ scripts, publish, others }) => scripts + publish + others],
    ],
    scale: { ...SCALE, keys: 1_000_000, held: 100_000, warmUpTurns: 300 },
  },
  postgres: {
    ...postgres,
    file: 'postgres-ours',
    requests: 'requests',
    costs: WRITES,
    scale: { ...SCALE, keys: 50_000, held: 50_000, warmUpTurns: 200 },
  },
  etcd: {
    ...etcd,
    file: 'etcd-ours',
    requests: 'requests',
    costs: WRITES,
    scale: { ...SCALE, keys: 50_000, held: 20_000, warmUpTurns: 200 },
  },
  zookeeper: {
    ...zookeeper,
    file: 'zookeeper-ours',
    requests: 'requests',
    costs: WRITES,
    scale: { ...SCALE, keys: 50_000, held: 20_000, warmUpTurns: 200 },
  },
};

/**
 * Measures and prints M16 on a store. Writes the results of that store to `results/fleets.json` if requested.
 *
 * @param {{ store?: string, quick: boolean, write: boolean }} order
 * @param {unknown} programs what `openServer` of the store needs
 * @param {(line: string) => void} log
 */
export async function measureFleets({ store = 'redis', quick, write }, programs, log) {
  const { title, openServer, file, scale, ...rest } = STORES[store];
  const { stats, url, stop } = await openServer(programs);
  process.once('exit', () => {
    killAllActors();
    stop?.();
  });
  exitOnSignals();
  const machine = { ...describeMachine(undefined), [store]: await stats.version() };
  const commit = measuredCommit();
  const candidate = (await candidatesOf(file)).find(({ variant }) => variant === 'withLock');
  console.log(
    `${title} ${machine[store]} · ${machine.processor} · ${machine.cores} cores · ${machine.system}`,
  );
  const context = { ...rest, url, stats, candidate, scale: quick ? m16.QUICK : scale };
  const [row] = await runRows([m16], { contextOf: () => context, commit, quick }, log);
  if (!write) return;
  await writeFleets(store, { commit, machine, scale, ...row }, Object.keys(STORES));
  console.log(`written to ${WRITTEN.join(', ')}`);
}
