import { writeFileSync } from 'node:fs';
import { candidatesOf } from '../candidates/candidates.mjs';
import { killAllActors } from '../harness/actor.mjs';
import { exitOnSignals } from '../harness/exit-on-signals.mjs';
import { describeMachine, measuredCommit } from '../machine.mjs';
import { resultsText } from '../report/numbers.mjs';
import { runRows } from '../report/run-rows.mjs';
import * as etcd from './etcd.mjs';
import * as postgres from './postgres.mjs';
import { ROWS } from './rows-of-stores.mjs';
import * as zookeeper from './zookeeper.mjs';

/**
 * Stores other than Redis, by name. Each is a module with
 *
 * - `title`: the name of the store in the output;
 * - `candidates`: files in `candidates/`: the floor, this library, and the lock that users of the server have or write by hand;
 * - `goals`: how many times better this library must be, see `rows-of-stores.mjs`;
 * - `costs`: columns, as pairs of a title and the counter of `stats.counts()` to show per hold;
 * - `openServer(programs)`: `{ url, stats, stop }`; `stats` is like `harness/server.mjs`, with the store's counters.
 */
const STORES = { postgres, etcd, zookeeper };

/**
 * Measures and prints rows on a store other than Redis, and writes the results to the store's own file if requested.
 *
 * @param {{ store: string, rows: string[], quick: boolean, write: boolean }} order
 * @param {unknown} programs what `openServer` of the store needs
 * @param {(line: string) => void} log
 */
export async function measureStore({ store, rows, quick, write }, programs, log) {
  const { title, openServer, candidates: files, goals, costs } = STORES[store];
  const { stats, url, stop } = await openServer(programs);
  process.once('exit', () => {
    killAllActors();
    stop();
  });
  exitOnSignals();
  const machine = { ...describeMachine(undefined), [store]: await stats.version() };
  const commit = measuredCommit();
  const candidates = (await Promise.all(files.map(candidatesOf))).flat();
  console.log(
    `${title} ${machine[store]} · ${machine.processor} · ${machine.cores} cores · ${machine.system}`,
  );
  const contextOf = () => ({ url, stats, candidates, goals, costs });
  const wanted = ROWS.filter(({ id }) => rows.includes(id));
  const results = await runRows(wanted, { contextOf, commit, quick }, log);
  if (!write) return;
  const file = new URL(`../results/${store}.json`, import.meta.url);
  writeFileSync(file, resultsText({ commit, machine, candidates, rows: results }));
  console.log(`written to bench/results/${store}.json`);
}
