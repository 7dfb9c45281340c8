/**
 * `npm run demo`: sells a stock to concurrent buyers over several processes, without and with the lock, and compares.
 * Does its own set-up and leaves nothing behind.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { HELP, UsageError, readArguments } from './demo/arguments.mjs';
import { Leftovers, isRunning } from './demo/leftovers.mjs';
import { prepareLockStore } from './demo/lock-store.mjs';
import { startProgress } from './demo/progress.mjs';
import { conclusion, findFaults, table } from './demo/report.mjs';
import { buyersOf, runSale } from './demo/sale.mjs';
import { prepareSampleApp, sampleApp, startInstance } from './demo/sample-app.mjs';
import { openShop } from './demo/shop.mjs';
import { SetupError } from './setup.mjs';

/** For what belongs to the same event to be told, ms. */
const MOMENT = 2_000;

/** What each instance has to look at. */
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
 * An order may find an instance gone before Node tells of the end of its process: resolves then, or after a moment in
 * which none has ended.
 */
async function someEnd(instances) {
  const ends = instances.map(({ child }) => isRunning(child) && once(child, 'exit'));
  await Promise.race([...ends, setTimeout(MOMENT, undefined, { ref: false })]);
}

/** Says which instance died and why, where the orders only know that they got no answer. */
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

/** Kills the server when a third of the orders is through; `done` resolves when locks can be had again. */
function killInTheMiddle({ orders }, store, onProgress) {
  let done;
  return {
    onProgress(count) {
      onProgress(count);
      if (done !== undefined || count < orders / 3) return;
      const killedAt = performance.now();
      done = store.killLeader().then(() => {
        const ms = Math.round(performance.now() - killedAt);
        print(`${store.whatIsKilled} after ${count} orders, and ${store.whatComesNext} after ${ms} ms.`);
      });
      // Looked at later.
      done.catch(() => undefined);
    },
    done: () => done,
  };
}

async function sellTwice(instances, store, options, signal) {
  const { stock, orders, quantity } = options;
  const urls = instances.map(({ url }) => url);
  const run = async (name, path, kills = false) => {
    const shop = openShop(urls, buyersOf(orders), signal);
    const showProgress = startProgress(name.padEnd('unprotected'.length), orders);
    const kill = kills ? killInTheMiddle(options, store, showProgress) : undefined;
    const onProgress = kill?.onProgress ?? showProgress;
    const sku = `${name}-${process.pid}`;
    try {
      const sale = { shop, sku, path, stock, orders, quantity, signal, onProgress, persistent: kills };
      const result = await runSale(sale);
      await kill?.done();
      return result;
    } finally {
      shop.close();
    }
  };
  print(`\n${orders} orders of ${quantity} at once, ${stock} in stock:`);
  const unprotected = await run('unprotected', '/orders/unprotected');
  const protectedRun = await run('protected', '/orders', options.killLeader);
  print(`\n${table({ unprotected, protected: protectedRun })}\n`);
  print(conclusion(unprotected, protectedRun, options));
  if (options.killLeader)
    print(`Orders that could not be served meanwhile were sent again ${protectedRun.sentAgain} times.`);
  return findFaults(protectedRun, options).length === 0;
}

/** What there is to look at while the sale runs. */
function printUrls(instances, store, options) {
  print('\nTo look at while they sell, and the locks of all of them:');
  for (const { name, url } of instances) print(`  ${name}  ${PAGES.map((page) => url + page).join('  ')}`);
  if (store.privateUrl) print(`  ${options.store.padEnd(10)}  ${store.privateUrl}`);
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
    kills: options.killLeader,
    folder,
    sampleApp,
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
      await someEnd(instances);
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
  const options = readArguments(process.argv.slice(2), process.env);
  if (options.help) {
    print(HELP);
    return;
  }
  const leftovers = new Leftovers();
  leftovers.removeOnSignals(() => print('\nStopping …'));
  try {
    await demo(options, leftovers);
  } catch (error) {
    // Whatever breaks because things are being stopped is no news.
    if (!leftovers.interrupted) throw error;
  } finally {
    await leftovers.remove();
  }
  // After a signal its handler ends the process, with the signal's exit code.
  if (leftovers.interrupted) await new Promise(() => {});
}

try {
  await main();
} catch (error) {
  process.exitCode = error instanceof UsageError ? 2 : 1;
  // Errors of the system (they have a code) say themselves what is wrong; the place in our code says more about others.
  const expected = error instanceof UsageError || error instanceof SetupError || error.code !== undefined;
  process.stderr.write(`${expected ? error.message : error.stack}\n`);
}
