import { mkdirSync, writeFileSync } from 'node:fs';
import { candidatesOf } from '../candidates/candidates.mjs';
import { killAllActors } from '../harness/actor.mjs';
import { exitOnSignals } from '../harness/exit-on-signals.mjs';
import { describeMachine, measuredCommit } from '../machine.mjs';
import { readable } from '../report/results-file.mjs';
import { summaryTable, verdictOf } from '../report/summary.mjs';
import { ROWS } from './rows-of-stores.mjs';
import { STORES } from './stores.mjs';

/**
 * Measures a store other than Redis, prints it, and writes it to a file of its own where that is wanted.
 *
 * @param {{ store: string, rows: string[], quick: boolean, write: boolean }} order
 * @param {unknown} programs what its server is started with
 * @param {(line: string) => void} log
 */
export async function measureStore({ store, rows, quick, write }, programs, log) {
  const started = performance.now();
  const seconds = () => Math.round((performance.now() - started) / 1_000);
  const { title, openServer, candidates: files, goals, costs } = STORES[store];
  const server = await openServer(programs);
  process.once('exit', () => {
    killAllActors();
    server.stop();
  });
  exitOnSignals();
  const { stats, url } = server;
  const machine = { ...describeMachine(undefined), [store]: await stats.version() };
  const commit = measuredCommit();
  const candidates = (await Promise.all(files.map(candidatesOf))).flat();
  console.log(
    `${title} ${await stats.version()} · ${machine.processor} · ${machine.cores} cores · ${machine.system}`,
  );
  console.log(
    `commit ${commit ?? 'unknown'} · ${new Date().toISOString()}${quick ? ' · quick: rounds too short for figures' : ''}`,
  );
  const progress = (row, line) => log(`${String(seconds()).padStart(4)} s  ${row}  ${line}`);
  const results = [];
  for (const { id, title: what, run } of ROWS.filter((row) => rows.includes(row.id))) {
    const { text, checks, data } = await run({ url, stats, candidates, goals, costs, quick, progress });
    console.log(`\n${id}  ${what}\n\n${text.join('\n\n')}`);
    const measuredAt = new Date().toISOString();
    results.push({ id, title: what, verdict: verdictOf(checks), checks, measuredAt, data });
  }
  console.log(`\n${summaryTable(results)}\n\n${seconds()} s`);
  if (!write) return;
  const file = new URL(`../results/${store}.json`, import.meta.url);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ commit, machine, candidates, rows: results }, readable, 2)}\n`);
  console.log(`written to bench/results/${store}.json`);
}
