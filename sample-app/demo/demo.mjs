/**
 * `npm run demo`: several processes sell a stock to concurrent buyers, without and with the lock, and the results are
 * compared. Installs and builds what it needs, and leaves nothing behind.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { isRunning, withLeftovers } from '../../.scripts/applications/leftovers.mjs';
import { prepareLockStore } from '../../.scripts/applications/lock-store.mjs';
import { prepareSampleApp, sampleApp, startInstance } from '../../.scripts/applications/sample-app.mjs';
import { SetupError } from '../../.scripts/setup.mjs';
import { HELP, UsageError, readArguments } from './arguments.mjs';
import { conclusion, findFaults, printProgress, table } from './report.mjs';
import { runSale } from './sale.mjs';

/** How long to wait for the `exit` event of a process after its requests have failed, ms. */
const EXIT_WAIT = 2_000;

/** Pages that each instance serves. */
const PAGES = ['/locks', '/health', '/metrics'];

const print = (text = '') => process.stdout.write(`${text}\n`);

async function startInstances({ store, options, folder, leftovers }) {
  leftovers.signal.throwIfAborted();
  const env = { ...store.env, DATABASE_FILE: join(folder, 'shop.db') };
  const count = store.single ? 1 : options.instances;
  if (store.single) {
    print('No redis-server here, and none could be installed: locks live in the memory of one process.');
    print(
      `So there is one instance, not ${options.instances}. Install Redis or set REDIS_URL to see several.`,
    );
  }
  print(`Starting ${count} instance${count === 1 ? '' : 's'} of the sample app, locks in ${store.title} …`);
  const names = Array.from({ length: count }, (_, index) => `instance ${index + 1}`);
  return Promise.all(names.map((name) => startInstance({ name, env, leftovers })));
}

/**
 * Waits for the end of an instance, since requests may fail before Node reports the end of the process. Gives up after
 * {@link EXIT_WAIT}.
 */
async function anyExit(instances) {
  const ends = instances.map(({ child }) => isRunning(child) && once(child, 'exit'));
  await Promise.race([...ends, setTimeout(EXIT_WAIT, undefined, { ref: false })]);
}

/** Reports which instances ended and why; the failed orders only show that there was no reply. */
function reportCrashes(instances) {
  const dead = instances.filter(({ child }) => !isRunning(child));
  for (const { name, child, output } of dead) {
    print(
      `${name} ended unexpectedly (${child.signalCode ?? `exit code ${child.exitCode}`}). Its last output:`,
    );
    print(output());
  }
  return dead.length > 0;
}

/** Resolves when the store grants locks again. */
async function killServer(store, count) {
  const killedAt = performance.now();
  await store.kill();
  const ms = Math.round(performance.now() - killedAt);
  print(`${store.killedText} after ${count} orders, and ${store.recoveredText} after ${ms} ms.`);
}

async function sellTwice(instances, store, options, signal) {
  const { stock, orders, quantity } = options;
  const urls = instances.map(({ url }) => url);
  const run = async (name, path, kills = false) => {
    const showProgress = printProgress(name.padEnd('unprotected'.length), orders);
    let recovery;
    const onProgress = (count) => {
      showProgress(count);
      if (!kills || recovery !== undefined || count < orders / 3) return;
      recovery = killServer(store, count);
      // It is awaited later.
      recovery.catch(() => undefined);
    };
    const sku = `${name}-${process.pid}`;
    const sale = { urls, sku, path, stock, orders, quantity, signal, onProgress, retriesOrders: kills };
    const result = await runSale(sale);
    await recovery;
    return result;
  };
  print(`\n${orders} orders of ${quantity} at once, ${stock} in stock:`);
  const unprotected = await run('unprotected', '/orders/unprotected');
  const protectedRun = await run('protected', '/orders', options.killLeader);
  print(`\n${table({ unprotected, protected: protectedRun })}\n`);
  print(conclusion(unprotected, protectedRun, options));
  if (options.killLeader)
    print(`Orders that could not be served meanwhile were retried ${protectedRun.retries} times.`);
  return findFaults(protectedRun, options).length === 0;
}

/** Prints the URLs to open during the sale. */
function printUrls(instances, store, options) {
  print('\nPages to open during the sale; each shows the locks of all instances:');
  for (const { name, url } of instances) print(`  ${name}  ${PAGES.map((page) => url + page).join('  ')}`);
  if (store.url) print(`  ${options.store.padEnd(10)}  ${store.url}`);
  if (options.keep && store.list) print(`  command line  ${store.list}`);
}

function printWhatToTry(instances) {
  const [first] = instances;
  const json = "-H 'content-type: application/json'";
  print('\nStill running, until Ctrl-C. Try:');
  print(`  curl -X PUT ${first.url}/inventory/apple ${json} -d '{"stock":10}'`);
  print(`  curl -X POST ${first.url}/orders ${json} -d '{"sku":"apple","quantity":3}'`);
  print(`  curl ${instances.at(-1).url}/inventory/apple`);
}

async function demo(options, leftovers) {
  const log = (line) => print(line);
  await prepareSampleApp({ leftovers, log });
  const folder = leftovers.folder('nestjs-distributed-lock-demo-');
  const store = await prepareLockStore({
    kind: options.store,
    folder,
    application: sampleApp,
    leftovers,
    log,
  });
  const instances = await startInstances({ store, options, folder, leftovers });
  printUrls(instances, store, options);
  try {
    const exact = await sellTwice(instances, store, options, leftovers.signal);
    const crashed = reportCrashes(instances);
    process.exitCode = exact && !crashed ? 0 : 1;
  } catch (error) {
    if (!leftovers.interrupted) {
      await anyExit(instances);
      reportCrashes(instances);
    }
    throw error;
  }
  if (options.keep) {
    printWhatToTry(instances);
    leftovers.exitCodeOnSignal = process.exitCode;
    await Promise.all(instances.map(({ child }) => isRunning(child) && once(child, 'exit')));
    await leftovers.checkpoint();
    reportCrashes(instances);
  }
}

async function main() {
  const options = readArguments(process.argv.slice(2));
  if (options.help) {
    print(HELP);
    return;
  }
  await withLeftovers((leftovers) => demo(options, leftovers));
}

try {
  await main();
} catch (error) {
  process.exitCode = error instanceof UsageError ? 2 : 1;
  // The message of a system error, which has a code, is sufficient. All other errors need the stack.
  const { code = error.cause?.code } = error;
  const expected = error instanceof UsageError || error instanceof SetupError || code !== undefined;
  process.stderr.write(`${expected ? error.message : error.stack}\n`);
}
