import { parseArgs } from 'node:util';

/** An invalid command line. Only its message is printed, and the exit code is 2. */
export class UsageError extends Error {
  name = 'UsageError';
}

const STORES = ['redis', 'postgres', 'etcd', 'zookeeper'];
/** Stores that keep their locks when a server is killed. */
const DURABLE_STORES = ['postgres', 'etcd', 'zookeeper'];

const NUMBERS = {
  instances: { initial: 3, max: 16, help: 'processes of the sample app' },
  stock: { initial: 100, max: 1_000_000, help: 'articles in stock before each run' },
  orders: { initial: 300, max: 100_000, help: 'orders, all at once (up to 1000 in flight)' },
  quantity: { initial: 1, max: 1_000_000, help: 'articles in each order' },
};

export const HELP = `Sells more orders than there is stock to concurrent buyers over several processes of the sample app,
first without the lock, then with it, and compares.

  npm run demo -- [options]

${Object.entries(NUMBERS)
  .map(
    ([name, { initial, max, help }]) =>
      `  --${`${name} N`.padEnd(13)} ${help}: 1 to ${max}, default ${initial}`,
  )
  .join('\n')}
  --store NAME    the store of the locks: ${STORES.join(' or ')}, default ${STORES[0]}
  --kill-leader   kill the server in the middle of the sale with the lock (the leader of three members of etcd and ZooKeeper):
                  ${DURABLE_STORES.join(' or ')} only
  --keep          leave everything running afterwards, until Ctrl-C
  --help          this text

REDIS_URL=redis://… uses that server, with a unique key prefix. Otherwise the demo starts a private server, as it does for the other stores.
The exit code is 0 only if the run with the lock sold exactly the stock.`;

const SEE_HELP = 'See: npm run demo -- --help';
const WITH_NPM = 'With npm, options follow two dashes: npm run demo -- --stock 50';

function numberOf(name, text) {
  const { initial, max } = NUMBERS[name];
  if (text === undefined) return initial;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > max) {
    throw new UsageError(`--${name} must be a whole number from 1 to ${max}, not "${text}". ${SEE_HELP}`);
  }
  return value;
}

function parse(args) {
  const numbers = Object.keys(NUMBERS).map((name) => [name, { type: 'string' }]);
  const flags = ['kill-leader', 'keep', 'help'].map((name) => [name, { type: 'boolean', default: false }]);
  const store = { type: 'string', default: STORES[0] };
  try {
    return parseArgs({ args, options: { ...Object.fromEntries([...numbers, ...flags]), store } }).values;
  } catch (error) {
    // Node's messages name the option and its type.
    const hint = error.code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL' ? WITH_NPM : SEE_HELP;
    throw new UsageError(`${error.message}\n${hint}`);
  }
}

/**
 * @returns {{ instances: number, stock: number, orders: number, quantity: number, store: string,
 *   killLeader: boolean, keep: boolean, help: boolean }}
 */
export function readArguments(args) {
  const { store, keep, help, 'kill-leader': killLeader, ...given } = parse(args);
  const numbers = Object.keys(NUMBERS).map((name) => [name, numberOf(name, given[name])]);
  const options = { ...Object.fromEntries(numbers), store, killLeader, keep, help };
  const { quantity, stock } = options;
  if (quantity > stock) {
    throw new UsageError(
      `--quantity ${quantity} is more than --stock ${stock}: no order could be filled. ${SEE_HELP}`,
    );
  }
  if (!STORES.includes(store)) {
    throw new UsageError(`--store must be ${STORES.join(' or ')}, not "${store}". ${SEE_HELP}`);
  }
  if (killLeader && !DURABLE_STORES.includes(store)) {
    throw new UsageError(
      `--kill-leader needs --store ${DURABLE_STORES.join(' or ')}: ${store} may lose its locks with the server. ${SEE_HELP}`,
    );
  }
  return options;
}
