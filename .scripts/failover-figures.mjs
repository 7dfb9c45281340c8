import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { describeMachine } from '../bench/machine.mjs';
import { resultsText, short } from '../bench/report/numbers.mjs';
import { SetupError } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Median and maximum as the text of a table cell. */
export const spread = ({ median, longest }) => `${short(median)} – ${short(longest)}`;

/** Columns of the tables of failovers. */
export const FIRST_COLUMNS = [
  ['first grant, ms', ({ firstGrant }) => spread(firstGrant)],
  ['each key, ms', ({ grantOfEachKey }) => spread(grantOfEachKey)],
  ['grants', ({ grants }) => `${grants}`],
  ['held at a kill', ({ heldAtKill }) => `${heldAtKill}`],
  ['lost', ({ lost, expiredAtRelease }) => `${lost + expiredAtRelease}`],
  ['unknown', ({ unknownAtRelease }) => `${unknownAtRelease}`],
];
export const LAST_COLUMN = [
  'errors',
  ({ errors }) => `${Object.values(errors).reduce((sum, count) => sum + count, 0)}`,
];

function failoversWanted(initial) {
  const { values } = parseArgs({ options: { failovers: { type: 'string', default: String(initial) } } });
  const failovers = Number(values.failovers);
  if (Number.isInteger(failovers) && failovers >= 1 && failovers <= 1_000) return failovers;
  throw new SetupError(`--failovers must be a whole number from 1 to 1000; got ${values.failovers}.`);
}

/** Runs the measurements by Jest, since they use the servers and helpers of the tests. */
function measure(tests, folder, env) {
  const runner = join(root, '.scripts/test.mjs');
  const only = ['--testMatch', `<rootDir>/${tests}/*.figures.ts`, '--runInBand'];
  const { status } = spawnSync(process.execPath, [runner, '--no-setup', ...only], {
    cwd: root,
    // stdout is reserved for the tables.
    stdio: ['ignore', 2, 2],
    env: { ...process.env, ...env, FIGURES_FOLDER: folder },
  });
  if (status !== 0) throw new SetupError('The measurement failed; its messages are above.');
}

/**
 * Measures failovers, prints the figures, and writes them to a file.
 *
 * @param {object} what
 * @param {number} what.failovers default number of failovers of each kind
 * @param {string} what.tests the folder of the measurements
 * @param {string} what.file the file for the figures, in `bench/results`
 * @param {() => { env: object, versions: object }} what.prepare sets up servers; `env`: variables by which the measurements
 *   find them
 * @param {(part: (name: string) => object) => object} what.read collects the figures from the files of the measurements
 * @param {(figures: object) => void} what.print
 */
export function runFigures({ failovers: initial, tests, file, prepare, read, print }) {
  try {
    const failovers = failoversWanted(initial);
    // The average of the last five minutes, before the first server is started.
    const load = Number(loadavg()[1].toFixed(2));
    const { env, versions } = prepare();
    const folder = mkdtempSync(join(tmpdir(), 'lock-figures-'));
    try {
      const date = new Date().toISOString().slice(0, 10);
      const machine = { ...describeMachine(versions.redis), load, ...versions };
      measure(tests, folder, { ...env, FIGURES_FAILOVERS: String(failovers) });
      const part = (name) => JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'));
      const figures = { date, machine, failovers, ...read(part) };
      print(figures);
      const results = join(root, 'bench/results', file);
      writeFileSync(results, resultsText(figures));
      console.log(`\nwritten to ${results}`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
