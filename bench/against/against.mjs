import { othersShare } from '../harness/processors.mjs';
import { openServer } from '../harness/server.mjs';
import { measuredCommit } from '../machine.mjs';
import { percent } from '../report/numbers.mjs';
import { ROWS } from '../rows/rows.mjs';
import { compare } from './compare.mjs';
import { buildRevision } from './revision.mjs';

/**
 * `--against`: measures this build and that of another revision in alternating rounds, and prints the comparison.
 *
 * @param {{ rows: string[], quick: boolean, against: string, commit: string }} order `commit`: id of the revision `against`
 * @param {string} program path of redis-server
 */
export async function measureAgainst({ rows, quick, against, commit }, program, log) {
  const build = buildRevision(commit, log);
  const inUse = await othersShare();
  const context = { ...(await openServer(program)), short: quick };
  const chosen = ROWS.filter((row) => rows.includes(row.id));
  for (const { id, gauges } of chosen)
    if (gauges.length === 0) log(`${id}: not compared, since leases and time-outs determine its figures`);
  console.log(`now: ${measuredCommit() ?? 'unknown'} · then: ${against} (${commit.slice(0, 12)})`);
  console.log(`processors in use by other programs before the start: ${percent(inUse)}`);
  await compare(gaugesOf(chosen), context, build, { then: against, rounds: quick ? 3 : 7 }, log);
}

/** The gauges of rows with their names. */
export const gaugesOf = (rows) =>
  rows.flatMap(({ id, gauges }) => gauges.map((gauge) => [`${id} ${gauge.what}`, gauge]));
