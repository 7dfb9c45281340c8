/**
 * `npm run check:bench`: a short comparison of this build with the commit before the unreleased changes. Fails only if a
 * figure is less than half as good in three attempts. Prints a message and succeeds if there is no commit to compare with,
 * or if other programs use so much of the machine that the figures say nothing.
 */
import { readFileSync } from 'node:fs';
import { SetupError } from '../.scripts/setup.mjs';
import { beforeFirstUnreleased } from './against/first-unreleased.mjs';
import { git } from './against/git.mjs';
import { judge } from './against/ratios.mjs';
import { prepare } from './prepare.mjs';

/** The rows that show a regression within short rounds. */
const ROWS = ['M1', 'M2', 'M3', 'M4', 'M7', 'M12', 'M13'];
const ROUNDS = 3;
/** Since the start of the process. No further figure is measured after this, so that the check ends within two minutes. */
const TIME_MS = 95_000;
/** The minimum for measuring, also if the build alone took longer than `TIME_MS` on a busy machine. */
const LEAST_TIME_MS = 30_000;

/**
 * The share of processor time in use by other programs. Above this, two processes of the same build were observed to
 * differ by a factor of ten and more, depending on their processor.
 */
const MOST_IN_USE = 0.5;

const skip = (why) => console.log(`bench: skipped, ${why}`);

async function main() {
  const reference = beforeFirstUnreleased(
    readFileSync(new URL('../CHANGELOG.md', import.meta.url), 'utf8'),
    git,
  );
  if ('none' in reference) return skip(reference.none);
  const program = prepare({ peers: false });
  const { buildRevision } = await import('./against/revision.mjs');
  let build;
  try {
    build = buildRevision(reference.commit, (line) => process.stderr.write(`${line}\n`));
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    return skip(error.message);
  }
  const slower = await compare(reference.commit.slice(0, 12), build, program);
  if (slower.length === 0) return;
  console.error(
    `\nLess than half as good as ${reference.commit.slice(0, 12)} in all attempts: ${slower.join(', ')}`,
  );
  process.exitCode = 1;
}

async function compare(then, build, program) {
  const { openServer } = await import('./harness/server.mjs');
  const { withBoth } = await import('./against/compare.mjs');
  const { lineOf } = await import('./against/print-comparison.mjs');
  const { table } = await import('./report/table.mjs');
  const { ROWS: all } = await import('./rows/rows.mjs');
  const { othersShare } = await import('./harness/processors.mjs');
  const { percent } = await import('./report/numbers.mjs');
  const inUse = await othersShare();
  const context = { ...(await openServer(program)), short: true };
  const endsAt = Math.max(TIME_MS, performance.now() + LEAST_TIME_MS);
  const lines = [];
  const skipped = [];
  const slower = [];
  for (const { id, gauges } of all.filter((row) => ROWS.includes(row.id))) {
    for (const gauge of gauges.filter(({ thorough }) => !thorough)) {
      const name = `${id} ${gauge.what}`;
      if (performance.now() > endsAt) {
        skipped.push(`${name}: skipped, out of time`);
        continue;
      }
      // Each attempt starts new processes.
      const outcome = await untilJudged(() => withBoth(gauge, context, build, (measure) => measure(ROUNDS)));
      if ('missing' in outcome) {
        skipped.push(`${name}: skipped, ${then} does not have it: ${outcome.missing}`);
        continue;
      }
      lines.push([...lineOf(name, gauge, outcome.best), `${outcome.tries}`]);
      if (outcome.verdict === 'slower') slower.push(name);
    }
  }
  console.log(
    `this build against ${then}, how many times better; rounds are short, so only ratios far from 1 are significant\n`,
  );
  console.log(table(['', 'unit', 'now', 'then', 'ratio', 'min–max', 'attempts'], lines));
  for (const line of skipped) console.log(line);
  if (inUse <= MOST_IN_USE || slower.length === 0) return slower;
  console.log(
    `bench: not judged, other programs used ${percent(inUse)} of the processors and may have caused ratios below half: ${slower.join(', ')}`,
  );
  return [];
}

/** Repeats a comparison that other load on the machine may have spoilt. */
async function untilJudged(compareOnce) {
  const tries = [];
  let verdict;
  do {
    const compared = await compareOnce();
    if ('missing' in compared) return compared;
    tries.push(compared);
    verdict = judge(tries.map(({ ratio }) => ratio.median));
  } while (verdict === 'again');
  const best = tries.reduce((a, b) => (b.ratio.median > a.ratio.median ? b : a));
  return { best, tries: tries.length, verdict };
}

try {
  await main();
  process.exit();
} catch (error) {
  console.error(error instanceof SetupError ? error.message : error.stack);
  process.exit(1);
}
