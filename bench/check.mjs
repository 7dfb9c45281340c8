/**
 * `npm run check:bench`: a short comparison of this build with what was there before the first unreleased change. Fails
 * only where something is less than half as fast in three tries. Says so and succeeds where there is nothing to compare
 * with, and where other programs take so much of the machine that the figures are theirs.
 */
import { readFileSync } from 'node:fs';
import { SetupError } from '../.scripts/setup.mjs';
import { beforeFirstUnreleased } from './against/first-unreleased.mjs';
import { git } from './against/git.mjs';
import { judge } from './against/ratios.mjs';
import { prepare } from './prepare.mjs';

/** Those in which a slower way shows at once. */
const ROWS = ['M1', 'M2', 'M3', 'M4', 'M7', 'M12', 'M13'];
const ROUNDS = 3;
/** From the start of the process. After this no further figure is begun, so that all is over in two minutes. */
const TIME_MS = 95_000;
/** Where the machine is so busy that the build alone took that long, something is measured all the same. */
const LEAST_TIME_MS = 30_000;

/**
 * Of all processors, in use by others. Beyond it two processes of the same build were seen to differ by ten times and
 * more for as long as they lived, by the processor that they happened to be on.
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
    `\nLess than half as good as ${reference.commit.slice(0, 12)} in all tries: ${slower.join(', ')}`,
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
        skipped.push(`${name}: skipped, the time is over`);
        continue;
      }
      // Each try has processes of its own.
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
    `now against ${then}, how many times better; rounds are short: only what is far from 1 says much\n`,
  );
  console.log(table(['', 'unit', 'now', 'then', 'ratio', 'min–max', 'tries'], lines));
  for (const line of skipped) console.log(line);
  if (inUse <= MOST_IN_USE || slower.length === 0) return slower;
  console.log(
    `bench: not judged, other programs used ${percent(inUse)} of the processors; it may be their doing that these fell below half: ${slower.join(', ')}`,
  );
  return [];
}

/** Again where a machine with other work may have spoilt it. */
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
