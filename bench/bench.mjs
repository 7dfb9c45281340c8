/**
 * `npm run bench`: measures the rows M1 to M13, M15 and M18 on a private Redis, in interleaved rounds against the floor and the peers,
 * or against another revision of this repository. Prints tables to stdout and progress to stderr.
 */
import { ensureDependencies, SetupError } from '../.scripts/setup.mjs';
import { commitOf } from './against/revision.mjs';
import { readCommandLine, USAGE, UsageError } from './command-line.mjs';
import { prepare, prepareRedisson, prepareStore } from './prepare.mjs';

// Repeated here from the rows, which can only be imported once everything is installed and built.
const IDS = [...Array.from({ length: 13 }, (_, index) => `M${index + 1}`), 'M15', 'M18'];
const STORE_IDS = ['M1', 'M3', 'M4', 'M6', 'M18'];
const STORES = { postgres: STORE_IDS, etcd: STORE_IDS, zookeeper: STORE_IDS };
const toStderr = (line) => process.stderr.write(`${line}\n`);

/** Rows that are measured only by their name: they take many minutes. What they need is imported once it is installed and built. */
const ONLY_NAMED = {
  async M16(order) {
    const programs = order.store === undefined ? prepare({ peers: false }) : prepareStore(order.store);
    const { measureFleets } = await import('./measure.mjs');
    await measureFleets(order, programs, toStderr);
  },
  /** M14, beside Java processes. */
  async REDISSON(order) {
    const programs = prepareRedisson();
    const { measureRedisson } = await import('./redisson/measure-redisson.mjs');
    await measureRedisson(order, programs, toStderr);
  },
};

async function main() {
  const order = readCommandLine(process.argv.slice(2), IDS, STORES, Object.keys(ONLY_NAMED));
  if (order.help) return console.log(USAGE);
  if (order.page) {
    ensureDependencies();
    const { writePages } = await import('./report/pages.mjs');
    return await writePages();
  }
  for (const [row, measure] of Object.entries(ONLY_NAMED)) if (order.rows.includes(row)) await measure(order);
  order.rows = order.rows.filter((row) => !(row in ONLY_NAMED));
  if (order.rows.length > 0) await measureUsualRows(order);
}

async function measureUsualRows(order) {
  // Before installing and building: a typo must not take minutes to be reported.
  const commit = order.against === undefined ? undefined : commitOf(order.against);
  if (commit !== undefined) {
    const program = prepare({ peers: false });
    const { measureAgainst } = await import('./against/against.mjs');
    return await measureAgainst({ ...order, commit }, program, toStderr);
  }
  const programs = order.store === undefined ? prepare({ peers: true }) : prepareStore(order.store);
  const { measureRows } = await import('./measure.mjs');
  await measureRows(order, programs, toStderr);
}

try {
  await main();
  process.exit();
} catch (error) {
  const expected = error instanceof UsageError || error instanceof SetupError;
  toStderr(expected ? error.message : error.stack);
  process.exit(1);
}
