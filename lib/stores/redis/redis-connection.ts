import { Redis, type RedisOptions } from 'ioredis';
import { LockOptionsError } from '../../lock.errors.js';
import { shown } from '../../option-checks.js';

/** Options of ioredis for one server, without those of other topologies. */
export type RedisServerOptions = Omit<
  RedisOptions,
  | 'sentinels'
  | 'name'
  | 'role'
  | 'sentinelUsername'
  | 'sentinelPassword'
  | 'sentinelRetryStrategy'
  | 'sentinelReconnectStrategy'
  | 'sentinelCommandTimeout'
  | 'enableTLSForSentinelMode'
  | 'sentinelTLS'
  | 'updateSentinels'
  | 'sentinelMaxConnections'
  | 'failoverDetector'
>;

/** How to reach one Redis server: a URL, options, or a client of the user's, which is duplicated and never touched. */
export type RedisConnection = string | RedisServerOptions | Redis;

/** Replies are read in the shapes that every version of ioredis has. */
type OwnSettings = RedisOptions & { readonly replyMapping: 'legacy' };

/** Opens connections with settings of the lock's own (P31). */
export interface RedisConnector {
  /** `host:port` or path, for log lines. */
  readonly address: string;
  /** What the user's own ioredis `keyPrefix` puts before every key. */
  readonly keyPrefix: string;
  connect(requestTimeout: number): Redis;
}

export function redisConnector(connection: RedisConnection): RedisConnector {
  if (isClient(connection)) {
    return connectorOf(connection.options, (overrides) => connection.duplicate(overrides));
  }
  const parsed = typeof connection === 'string' ? optionsOf(connection) : connection;
  if ('sentinels' in parsed && parsed.sentinels) throw unsupported('Sentinel');
  if ('nodes' in parsed) throw unsupported('Cluster');
  checkServerOptions(parsed);
  return connectorOf(parsed, (overrides) => new Redis({ ...parsed, ...overrides }));
}

/** Lets ioredis read the URL, without connecting. */
function optionsOf(url: string): RedisOptions {
  if (!/^rediss?:\/\//.test(url)) {
    throw new LockOptionsError(
      "DistributedLockModule: redis must be a URL such as 'redis://localhost:6379' or 'rediss://user:password@host:6380/0', " +
        'options of ioredis, or a client; got a string that does not start with redis:// or rediss://.',
    );
  }
  if (!canRead(url)) {
    throw new LockOptionsError(
      'DistributedLockModule: the redis URL could not be read. Percent-encode special characters of the password.',
    );
  }
  const probe = new Redis(url, { lazyConnect: true });
  probe.disconnect();
  return probe.options;
}

/** Whether ioredis, which also decodes it, can read it. */
function canRead(url: string): boolean {
  try {
    const { username, password } = new URL(url);
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

/** What ioredis would take for something else without a word. */
function checkServerOptions(options: RedisServerOptions): void {
  const { db = 0 } = options;
  // Settings from the environment come as strings, which ioredis takes, too.
  const port: unknown = options.port ?? 6379;
  if (!Number.isInteger(db) || db < 0) {
    throw new LockOptionsError(
      `DistributedLockModule: the database of redis must be a number from 0, as in 'redis://localhost:6379/0'; got ${shown(db)}.`,
    );
  }
  const number = Number(port);
  if (!Number.isInteger(number) || number < 0 || number > 65_535) {
    throw new LockOptionsError(
      `DistributedLockModule: the port of redis must be a number from 0 to 65535; got ${shown(port)}.`,
    );
  }
  if ('url' in options) {
    throw new LockOptionsError(
      "DistributedLockModule: redis has no option url; give the URL itself, as in redis: 'redis://localhost:6379'.",
    );
  }
}

function connectorOf(options: RedisServerOptions, open: (overrides: OwnSettings) => Redis): RedisConnector {
  const address = options.path ?? `${options.host ?? 'localhost'}:${String(options.port ?? 6379)}`;
  const database = options.db === undefined || options.db === 0 ? '' : `, database ${String(options.db)}`;
  return {
    address: address + database,
    keyPrefix: options.keyPrefix ?? '',
    connect: (requestTimeout) => withoutStaleTimer(open(ownSettings(options, requestTimeout))),
  };
}

/** ioredis 5 leaves the timer of `socketTimeout` running when a connection closes, and it then cuts the next one. */
function withoutStaleTimer(client: Redis): Redis {
  const timed = client as unknown as { socketTimeoutTimer?: NodeJS.Timeout | undefined };
  client.on('close', () => {
    clearTimeout(timed.socketTimeoutTimer);
    timed.socketTimeoutTimer = undefined;
  });
  return client;
}

/**
 * Nothing may be sent twice or late behind the lock's back: no queue of unsent commands, no resending after a
 * reconnect, no retries. A connection that owes an answer for too long is cut, since the next one may get through.
 */
function ownSettings(options: RedisServerOptions, requestTimeout: number): OwnSettings {
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    reconnectOnError: null,
    retryStrategy: (times) => Math.min(25 * 2 ** times, 1_000) * (0.75 + Math.random() / 4),
    enableReadyCheck: true,
    enableAutoPipelining: false,
    connectTimeout: Math.min(options.connectTimeout ?? 5_000, 5_000),
    socketTimeout: requestTimeout,
    keyPrefix: '',
    stringNumbers: false,
    replyMapping: 'legacy',
    monitor: false,
    readOnly: false,
  };
}

/** By shape: the user's ioredis may be another copy than ours. */
function isClient(value: object | string): value is Redis {
  if (typeof value === 'string' || !('duplicate' in value)) return false;
  if ('isCluster' in value && value.isCluster === true) throw unsupported('Cluster');
  const options = (value as Redis).options as RedisOptions | undefined;
  if (options?.sentinels) throw unsupported('Sentinel');
  return true;
}

function unsupported(topology: string): LockOptionsError {
  return new LockOptionsError(
    `DistributedLockModule: redis leads to a Redis ${topology}, which this version does not support. ` +
      'Give the URL, options or client of one server.',
  );
}

/** For the check of module options: whether it looks like anything that can be connected to. */
export function checkRedisConnection(value: unknown): void {
  if (typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value))) {
    redisConnector(value);
    return;
  }
  throw new LockOptionsError(
    `DistributedLockModule: redis must be a URL, options of ioredis, or a client; got ${shown(value)}.`,
  );
}
