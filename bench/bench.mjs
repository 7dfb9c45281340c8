/**
 * `npm run bench`: measures the rows M1 to M13 and M15 on a private Redis, in interleaved rounds against the floor and the peers,
 * or against another revision of this repository. Prints tables to stdout and progress to stderr.
 */
import { ensureDependencies, SetupError } from '../.scripts/setup.mjs';
import { commitOf } from './against/revision.mjs';
import { readCommandLine, USAGE, UsageError } from './command-line.mjs';
import { prepare, prepareRedisson, prepareStore } from './prepare.mjs';

// Repeated here from the rows, which can only be imported once everything is installed and built.
const IDS = [...Array.from({ length: 13 }, (_, index) => `M${index + 1}`), 'M15'];
const STORE_IDS = ['M1', 'M3', 'M4', 'M6'];
const STORES = { postgres: STORE_IDS, etcd: STORE_IDS, zookeeper: STORE_IDS };
/** Takes minutes for each store, and has a file of its own for the results. */
const FLEETS = 'M16';

/** Measured beside Java processes. */
const REDISSON = 'REDISSON';

const toStderr = (line) => process.stderr.write(`${line}\n`);

async function main() {
  const order = readCommandLine(process.argv.slice(2), IDS, STORES, [FLEETS, REDISSON]);
  if (order.help) {
    console.log(USAGE);
    return;
  }
  // Imported dynamically: their dependencies must be installed and built first.
  if (order.page) {
    ensureDependencies();
    const { writePages } = await import('./report/pages.mjs');
    await writePages();
    return;
  }
  if (order.rows.includes(FLEETS)) {
    const programs = order.store === undefined ? prepare({ peers: false }) : prepareStore(order.store);
    const { measureFleets } = await import('./stores/measure-stores.mjs');
    await measureFleets(order, programs, toStderr);
    order.rows = order.rows.filter((row) => row !== FLEETS);
    if (order.rows.length === 0) return;
  }
  if (order.rows.includes(REDISSON)) {
    const programs = prepareRedisson();
    const { measureRedisson } = await import('./redisson/measure-redisson.mjs');
    await measureRedisson(order, programs, toStderr);
    order.rows = order.rows.filter((row) => row !== REDISSON);
    if (order.rows.length === 0) return;
  }
  if (order.store !== undefined) {
    const programs = prepareStore(order.store);
    const { measureStore } = await import('./stores/measure-stores.mjs');
    await measureStore(order, programs, toStderr);
    return;
  }
  // Before installing and building: a typo must not take minutes to be reported.
  const commit = order.against === undefined ? undefined : commitOf(order.against);
  const program = prepare({ peers: commit === undefined });
  if (commit === undefined) {
    const { measureRows } = await import('./measure-rows.mjs');
    await measureRows(order, program, toStderr);
  } else {
    const { measureAgainst } = await import('./against/against.mjs');
    await measureAgainst({ ...order, commit }, program, toStderr);
  }
}

try {
  await main();
  process.exit();
} catch (error) {
  const expected = error instanceof UsageError || error instanceof SetupError;
  toStderr(expected ? error.message : error.stack);
  process.exit(1);
}
