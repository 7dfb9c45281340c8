import type { RedisServerOptions } from '../../stores/redis/connection/redis-connection.js';
import type { DistributedLockOptions } from '../../nest/module/distributed-lock.options.js';
import type { CommandArguments } from '../command-arguments.js';
import { UsageError } from '../usage-error.js';
import { loadConfig, type LoadModule } from './config-file.js';

/** The variable of the environment that says which Redis. Its URLs may have passwords. */
export const URL_VARIABLE = 'LOCK_REDIS_URL';

/** Options that say which Redis; a file with options says it by itself. */
const OF_REDIS = ['redis', 'cluster', 'sentinel', 'key-prefix'];

/** Where the locks are, by options, a file or the environment, as `DistributedLockModule.forRoot` takes it. */
export async function lockPlace(
  args: CommandArguments,
  env: NodeJS.ProcessEnv,
  load: LoadModule,
): Promise<DistributedLockOptions> {
  const file = args.text('config');
  if (file !== undefined) {
    const other = OF_REDIS.find((name) => args.has(name));
    if (other !== undefined) {
      throw new UsageError(`--config and --${other} exclude each other: the file says where the locks are.`);
    }
    return await loadConfig(file, load);
  }
  const given = args.texts('redis');
  const urls = given.length > 0 ? given : wordsOf(env[URL_VARIABLE]);
  return redisPlace(urls, args);
}

function redisPlace(urls: readonly string[], args: CommandArguments): DistributedLockOptions {
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
  return others.length === 0 ? { redis: url, keyPrefix } : { quorum: urls, keyPrefix };
}

/** The URLs are those of the sentinels; user, password, database and TLS are for the servers, too. */
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
    // Its message shows the text, which may have a password.
  }
  throw new UsageError(
    'With --sentinel, --redis must be the URL of a sentinel, such as redis://sentinel-1:26379. Percent-encode special ' +
      'characters of the password.',
  );
}

function wordsOf(text = ''): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
