/**
 * `npm run bench`: measures the rows M1 to M13 on a Redis of its own, in interleaved rounds against the floor and the
 * peers. Tables go to stdout, progress to stderr, and the results of a full run to `docs/performance/`.
 */
import { SetupError } from '../.scripts/setup.mjs';
import { readCommandLine, USAGE, UsageError } from './command-line.mjs';
import { prepare } from './prepare.mjs';

const IDS = Array.from({ length: 13 }, (_, index) => `M${index + 1}`);

const toStderr = (line) => process.stderr.write(`${line}\n`);

async function main() {
  const order = readCommandLine(process.argv.slice(2), IDS);
  if (order.help) {
    console.log(USAGE);
    return;
  }
  const program = prepare();
  // Not before: what it imports has just been installed and built.
  const { measureRows } = await import('./measure-rows.mjs');
  await measureRows(order, program, toStderr);
}

try {
  await main();
  process.exit();
} catch (error) {
  const expected = error instanceof UsageError || error instanceof SetupError;
  toStderr(expected ? error.message : error.stack);
  process.exit(1);
}
