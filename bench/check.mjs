/**
 * `npm run check:bench`: a short comparison of this build with the commit before the unreleased changes. Fails only if a
 * figure is less than half as good in three attempts. Prints a message and succeeds if there is no commit to compare with,
 * or if other programs use so much of the machine that the figures say nothing.
 */
import { readFileSync } from 'node:fs';
import { SetupError } from '../.scripts/setup.mjs';
import { beforeFirstUnreleased } from './against/first-unreleased.mjs';
import { git } from './against/git.mjs';
import { prepare } from './prepare.mjs';

/** The rows that show a regression within short rounds. */
const ROWS = ['M1', 'M2', 'M3', 'M4', 'M7', 'M12', 'M13', 'M18'];
const ROUNDS = 3;
const TRIES = 3;
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
const log = (line) => process.stderr.write(`${line}\n`);

async function main() {
  const changelog = readFileSync(new URL('../CHANGELOG.md', import.meta.url), 'utf8');
  const reference = beforeFirstUnreleased(changelog, git);
  if ('none' in reference) return skip(reference.none);
  const then = reference.commit.slice(0, 12);
  const program = prepare({ peers: false });
  const { buildRevision } = await import('./against/revision.mjs');
  let build;
  try {
    build = buildRevision(reference.commit, log);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    return skip(error.message);
  }
  const { gaugesOf } = await import('./against/against.mjs');
  const { compare } = await import('./against/compare.mjs');
  const { openServer } = await import('./harness/server.mjs');
  const { othersShare } = await import('./harness/processors.mjs');
  const { ROWS: all } = await import('./rows/rows.mjs');
  const gauges = gaugesOf(all.filter(({ id }) => ROWS.includes(id))).filter(([, { thorough }]) => !thorough);
  const inUse = await othersShare();
  const context = { ...(await openServer(program)), short: true };
  const endsAt = Math.max(TIME_MS, performance.now() + LEAST_TIME_MS);
  console.log(`this build against ${then}; rounds are short, so only ratios far from 1 are significant`);
  const slower = await compare(gauges, context, build, { then, rounds: ROUNDS, tries: TRIES, endsAt }, log);
  if (slower.length === 0) return;
  if (inUse > MOST_IN_USE) {
    const share = Math.round(inUse * 100);
    console.log(`bench: not judged, other programs used ${share} % of the processors: ${slower.join(', ')}`);
    return;
  }
  console.error(`\nLess than half as good as ${then} in all attempts: ${slower.join(', ')}`);
  process.exitCode = 1;
}

try {
  await main();
  process.exit();
} catch (error) {
  console.error(error instanceof SetupError ? error.message : error.stack);
  process.exit(1);
}
