import { othersShare } from '../harness/processors.mjs';
import { openServer } from '../harness/server.mjs';
import { measuredCommit } from '../machine.mjs';
import { percent, short, spreadText, times } from '../report/numbers.mjs';
import { table } from '../report/table.mjs';
import { ROWS } from '../rows/rows.mjs';
import { withBoth } from './compare.mjs';
import { buildRevision } from './revision.mjs';

const ROUNDS = 7;
const ROUNDS_QUICK = 3;

/**
 * `--against`: measures this build and that of another revision in alternating rounds, and prints the comparison.
 *
 * @param {{ rows: string[], quick: boolean, against: string, commit: string }} order `commit`: id of the revision `against`
 * @param {string} program path of redis-server
 * @param {(line: string) => void} log
 */
export async function printComparison({ rows, quick, against, commit }, program, log) {
  const started = performance.now();
  const build = buildRevision(commit, log);
  const inUse = await othersShare();
  const server = await openServer(program);
  const context = { ...server, short: quick };
  const lines = [];
  const skipped = [];
  for (const { id, gauges } of ROWS.filter((row) => rows.includes(row.id))) {
    if (gauges.length === 0)
      skipped.push(`${id}: not compared, since leases and time-outs determine its figures`);
    for (const gauge of gauges) {
      const name = `${id} ${gauge.what}`;
      const compared = await withBoth(gauge, context, build, (measure) =>
        measure(quick ? ROUNDS_QUICK : ROUNDS),
      );
      if ('missing' in compared) {
        skipped.push(`${name}: skipped, ${against} does not have it: ${compared.missing}`);
        log(skipped.at(-1));
      } else {
        lines.push(lineOf(name, gauge, compared));
        log(
          `${Math.round((performance.now() - started) / 1_000)} s  ${name}  ${times(compared.ratio.median)}`,
        );
      }
    }
  }
  console.log(`now: ${measuredCommit() ?? 'unknown'} · then: ${against} (${commit.slice(0, 12)})`);
  console.log(`processors in use by other programs before the start: ${percent(inUse)}`);
  console.log(
    'ratio: how many times better this build is, median and range of the rounds; below 1 is worse\n',
  );
  console.log(table(['', 'unit', 'now', 'then', 'ratio', 'min–max'], lines));
  for (const line of skipped) console.log(line);
  console.log(`\n${Math.round((performance.now() - started) / 1_000)} s`);
}

export function lineOf(name, { unit }, { now, then, ratio }) {
  return [name, unit, short(now.median), short(then.median), times(ratio.median), spreadText(ratio)];
}
