import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DistributedLockOptions } from '../../nest/module/distributed-lock.options.js';
import type { RedisServerOptions } from '../../stores/redis/connection/redis-connection.js';
import type { CommandArguments } from './arguments.js';
import { UsageError } from './exit-codes.js';
import { shellWord } from './output.js';

/** Imports a module by its URL. */
export type LoadModule = (url: string) => Promise<unknown>;

/** The environment variable with the URLs of Redis, which may contain passwords. */
export const URL_VARIABLE = 'LOCK_REDIS_URL';

/** Options that choose a Redis. They exclude `--config`. */
const REDIS_OPTIONS = ['redis', 'cluster', 'sentinel', 'key-prefix'];

/** Options of `forRoot` that have no meaning for the command line, or would hide locks from other processes. */
const IGNORED_OPTIONS = new Set(['name', 'isGlobal', 'onUnavailable']);

/** The store that arguments, a configuration file or the environment specify, as options of `DistributedLockModule.forRoot`. */
export async function storeOptionsOf(
  args: CommandArguments,
  env: NodeJS.ProcessEnv,
  load: LoadModule,
): Promise<DistributedLockOptions> {
  const file = args.text('config');
  if (file !== undefined) {
    const other = REDIS_OPTIONS.find((name) => args.has(name));
    if (other !== undefined) {
      throw new UsageError(`--config and --${other} exclude each other: the file sets where the locks are.`);
    }
    return await loadConfig(file, load);
  }
  const given = args.texts('redis');
  const fromEnv = (env[URL_VARIABLE] ?? '').split(/\s+/).filter((url) => url !== '');
  return redisOptions(given.length > 0 ? given : fromEnv, args);
}

/**
 * The arguments that choose the store, for a command line to copy. URLs that may contain a password are omitted, since
 * other users of the machine can see a program's arguments.
 */
export function storeArguments(args: CommandArguments): readonly string[] {
  const urls = args.texts('redis');
  const hasSecrets = urls.some((url) => /[@?]/.test(url));
  return [
    ...(hasSecrets ? [] : urls).flatMap((url) => option('redis', url)),
    ...(args.flag('cluster') ? ['--cluster'] : []),
    ...['sentinel', 'key-prefix', 'config'].flatMap((name) => option(name, args.text(name))),
  ];
}

function option(name: string, value: string | undefined): readonly string[] {
  const word = value === undefined ? undefined : shellWord(value);
  return word === undefined ? [] : [`--${name}`, word];
}

function redisOptions(urls: readonly string[], args: CommandArguments): DistributedLockOptions {
  const [url, ...others] = urls;
  if (url === undefined) {
    throw new UsageError(
      'Say where the locks are: --redis URL, the environment variable LOCK_REDIS_URL, or --config FILE.',
    );
  }
  const keyPrefix = args.text('key-prefix');
  const sentinel = args.text('sentinel');
  if (args.flag('cluster') && sentinel !== undefined) {
    throw new UsageError('--cluster and --sentinel exclude each other.');
  }
  if (sentinel !== undefined) return { redis: sentinelOptions(urls, sentinel), keyPrefix };
  if (args.flag('cluster')) return { redis: { nodes: [...urls] }, keyPrefix };
  const bad = urls.find((one) => !/^rediss?:\/\//.test(one));
  if (bad !== undefined) {
    // Anything else may contain a password.
    const example = /^[\w.-]+(:\d+)?$/.test(bad) ? bad : 'localhost:6379';
    const where = args.has('redis') ? '--redis' : URL_VARIABLE;
    throw new UsageError(
      `${where} must be a URL, such as redis://${example}, or rediss://${example} with TLS.`,
    );
  }
  return others.length === 0 ? { redis: url, keyPrefix } : { quorum: urls, keyPrefix };
}

/** The URLs are those of the sentinels; user, password, database and TLS also apply to the servers. */
function sentinelOptions(urls: readonly string[], name: string): RedisServerOptions {
  const parsed = urls.map(sentinelUrl);
  const { username = '', password = '', pathname = '', protocol } = parsed[0] ?? {};
  const database = pathname.replace(/^\//, '');
  return {
    sentinels: parsed.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? 26_379 : Number(port),
    })),
    name,
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(database !== '' && { db: Number(database) }),
    ...(protocol === 'rediss:' && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
  };
}

function sentinelUrl(text: string): URL {
  try {
    const url = new URL(text);
    decodeURIComponent(url.username + url.password);
    if (/^rediss?:$/.test(url.protocol) && url.hostname !== '') return url;
  } catch {
    // The message of this error quotes the text, which may contain a password.
  }
  throw new UsageError(
    'With --sentinel, --redis must be the URL of a sentinel, such as redis://sentinel-1:26379. Percent-encode special ' +
      'characters of the password.',
  );
}

/** The default export of the user's module: options, a promise of options, or a function that returns either. */
async function loadConfig(file: string, load: LoadModule): Promise<DistributedLockOptions> {
  const url = pathToFileURL(resolve(file)).href;
  const exported = defaultOf(await orUsageError(`--config ${file} could not be loaded`, () => load(url)));
  const options: unknown =
    typeof exported === 'function'
      ? await orUsageError(`--config ${file}: its function failed`, exported as () => unknown)
      : await exported;
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new UsageError(
      `--config ${file}: its default export must be options of DistributedLockModule.forRoot, or a function that ` +
        "returns them, such as: export default { redis: 'redis://localhost:6379' };",
    );
  }
  const entries = Object.entries(options).filter(([name]) => !IGNORED_OPTIONS.has(name));
  const kept = Object.fromEntries(entries) as unknown as DistributedLockOptions; // validated when the store is created
  if (kept.store === 'memory') {
    throw new UsageError(
      `--config ${file}: locks of store: 'memory' are visible only in the process that has them.`,
    );
  }
  return kept;
}

async function orUsageError(what: string, action: () => unknown): Promise<unknown> {
  try {
    return await action();
  } catch (error) {
    throw new UsageError(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A module compiled to CommonJS has its default export one level deeper. */
function defaultOf(module: unknown): unknown {
  const { default: exported } = module as { readonly default?: unknown };
  const isCompiled =
    typeof exported === 'object' && exported !== null && '__esModule' in exported && 'default' in exported;
  return isCompiled ? exported.default : exported;
}
