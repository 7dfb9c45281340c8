import type { Cluster, ClusterNode, ClusterOptions, Redis, RedisOptions } from 'ioredis';
import { isPromiseLike } from '../../../common/deferred.js';
import { LockOptionsError } from '../../../model/lock.errors.js';
import { check, checkNames, checkObject, refuse, shownWithoutText } from '../../../model/option-checks.js';
import {
  renewCredentials,
  withoutFunctions,
  type ClusterOptionsWithCredentials,
  type CredentialSource,
  type WithCredentials,
} from './credentials.js';
import { ioredis } from './ioredis.js';
import { withGuardedNodes, withGuardedSockets } from './ioredis-patches.js';
import { REDIS_OPTION_NAMES } from './redis-option-names.js';
import { discoverySettings, ownSettings, type DiscoverySettings, type OwnSettings } from './own-settings.js';

const WHERE = 'DistributedLockModule';

/**
 * Options of ioredis for one server, or with `sentinels` and `name` for the primary that Sentinel names. Users and
 * passwords may be functions, which are called before each attempt to connect.
 */
export type RedisServerOptions = WithCredentials<RedisOptions> &
  Readonly<Partial<Record<MistakenName, never>>>;

/** A Redis Cluster: some of its nodes, and the options of ioredis for a cluster. */
export interface RedisClusterOptions {
  /** URLs, or host and port, of at least one node. The client discovers the others. */
  readonly nodes: readonly ClusterNode[];
  /** Options of ioredis. User, password and TLS of the nodes go into its `redisOptions`. */
  readonly options?: ClusterOptionsWithCredentials | undefined;
}

/**
 * How to reach Redis: a URL, options (of one server, of Sentinel, or of a cluster), or your own client. The library
 * duplicates the client and never uses it.
 */
export type RedisConnection = string | RedisServerOptions | RedisClusterOptions | Redis | Cluster;

/** Opens connections to one server with the library's settings. */
export interface ServerConnector {
  readonly kind: 'server';
  /** `host:port` or path, for log lines. */
  readonly address: string;
  /** The user's own ioredis `keyPrefix`, which precedes every key. */
  readonly keyPrefix: string;
  /** Name of the user on the server. */
  readonly user: string;
  readonly database: number;
  /** Creates a client, not yet connected. */
  create(requestTimeout: number): Redis;
  /** Connects it, for the first time. */
  connect(client: Redis): Promise<void>;
}

/** Opens clients that read the slot map of a Redis Cluster. */
export interface ClusterConnector {
  readonly kind: 'cluster';
  readonly address: string;
  readonly keyPrefix: string;
  readonly options: ClusterOptions;
  readonly credentials: () => CredentialSource;
  /**
   * @param requestTimeout ms
   * @param pause ms before the next attempt to reach the cluster
   */
  open(requestTimeout: number, pause: () => number): Cluster;
}

export type RedisConnector = ServerConnector | ClusterConnector;

/** @throws LockOptionsError for an invalid connection, or without ioredis */
export function redisConnector(connection: RedisConnection): RedisConnector {
  const { Redis } = ioredis();
  if (isPromiseLike(connection)) {
    throw new LockOptionsError(
      'DistributedLockModule: redis is a promise. Await it, as in forRootAsync({ useFactory: async () => ({ redis: await … }) }).',
    );
  }
  if (typeof connection === 'object' && 'duplicate' in connection) return connectorOfClient(connection);
  if (typeof connection === 'object' && 'nodes' in connection) return connectorOfNodes(connection);
  const parsed = typeof connection === 'string' ? optionsOf(connection) : connection;
  checkServerOptions(parsed);
  const options = withoutFunctions(parsed);
  return serverConnector(
    options,
    () => parsed,
    (overrides) => new Redis({ ...options, ...overrides }),
  );
}

/** For the check of module options: rejects values that can't be a connection. */
export function checkRedisConnection(value: unknown): void {
  if (typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value))) {
    redisConnector(value);
    return;
  }
  refuse(WHERE, 'redis must be a URL, options of ioredis, or a client', value);
}

/**
 * @param credentials read before each attempt to connect
 * @param open creates a client with these overrides of its options
 */
export function serverConnector(
  options: RedisOptions,
  credentials: () => CredentialSource,
  open: (overrides: OwnSettings) => Redis,
): ServerConnector {
  const database = options.db ?? 0;
  return {
    kind: 'server',
    address: addressOf(options) + (database === 0 ? '' : `, database ${String(database)}`),
    keyPrefix: options.keyPrefix ?? '',
    user: options.username ?? 'default',
    database,
    create: (requestTimeout) => {
      const settings = ownSettings(options, requestTimeout);
      const retryStrategy: RedisOptions['retryStrategy'] = (times) => {
        renewCredentials(credentials(), client.options).catch((error: unknown) =>
          client.emit('error', error),
        );
        return settings.retryStrategy?.(times);
      };
      let isReconnecting = false;
      // With each `true`, ioredis would add a listener to the socket that it closes.
      const reconnectOnError: RedisOptions['reconnectOnError'] = (error) =>
        !isReconnecting && (isReconnecting = settings.reconnectOnError?.(error) === true);
      const client = withGuardedSockets(open({ ...settings, retryStrategy, reconnectOnError }));
      client.on('connect', () => (isReconnecting = false));
      client.on('error', ({ message }: Error) => {
        // Without it, the first requests show whether the server is ready.
        if (/unknown command.*\binfo\b/i.test(message)) client.options.enableReadyCheck = false;
      });
      return client;
    },
    connect: async (client) => {
      const failure = await renewCredentials(credentials(), client.options).catch((error: unknown) => error);
      // It may have been closed meanwhile.
      if (client.status !== 'wait') return;
      try {
        await client.connect();
      } finally {
        // The cause of what the server has replied.
        if (failure !== undefined) client.emit('error', failure);
      }
    },
  };
}

function clusterConnector(
  options: ClusterOptions,
  credentials: () => CredentialSource,
  addresses: readonly string[],
  open: (overrides: DiscoverySettings) => Cluster,
): ClusterConnector {
  return {
    kind: 'cluster',
    address: addresses.join(', '),
    keyPrefix: options.keyPrefix ?? options.redisOptions?.keyPrefix ?? '',
    options,
    credentials,
    open: (requestTimeout, pause) =>
      withGuardedNodes(open(discoverySettings(options, requestTimeout, pause))),
  };
}

function connectorOfClient(client: Redis | Cluster): RedisConnector {
  checkClient(client);
  if (isCluster(client)) {
    const credentials = (): CredentialSource => client.options.redisOptions ?? {};
    return clusterConnector(client.options, credentials, addressesOf(client), (overrides) =>
      client.duplicate([], overrides),
    );
  }
  return serverConnector(
    client.options,
    () => client.options,
    (overrides) => client.duplicate(overrides),
  );
}

function connectorOfNodes(connection: RedisClusterOptions): ClusterConnector {
  const where = `${WHERE}: redis`;
  checkNames(where, connection, new Set(['nodes', 'options']));
  const { nodes, options = {} } = connection;
  if (!Array.isArray(nodes) || nodes.length === 0) {
    throw new LockOptionsError(
      `${where}.nodes must list at least one node of the cluster, as in redis: { nodes: ['redis://node-1:6379'] }; got ${shownWithoutText(nodes)}.`,
    );
  }
  checkObject(`${where}.options`, options);
  const read = (nodes as readonly unknown[]).map((node, index) =>
    nodeOptions(`${where}.nodes[${String(index)}]`, node),
  );
  // These also apply to discovered nodes.
  const [{ username, password, tls } = {}] = read;
  const credentials: CredentialSource = { username, password, tls, ...options.redisOptions };
  const redisOptions = withoutFunctions({
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls !== undefined && { tls }),
    ...options.redisOptions,
  });
  if ((redisOptions.db ?? 0) !== 0 || read.some(({ db }) => (db ?? 0) !== 0)) {
    throw new LockOptionsError(`${where}: a Redis Cluster has only database 0; leave the database out.`);
  }
  const seeds = read.map(({ host = 'localhost', port = 6379 }) => ({ host, port }));
  const clusterOptions: ClusterOptions = { ...options, redisOptions };
  return clusterConnector(
    clusterOptions,
    () => credentials,
    seeds.map(addressOf),
    (overrides) => {
      const { redisOptions: own, ...rest } = overrides;
      const { Cluster } = ioredis();
      return new Cluster(seeds, { ...clusterOptions, ...rest, redisOptions: { ...redisOptions, ...own } });
    },
  );
}

/** Lets ioredis parse the URL, without connecting. */
function optionsOf(url: string): RedisOptions {
  if (!/^rediss?:\/\//.test(url)) {
    throw new LockOptionsError(
      "DistributedLockModule: redis must be a URL such as 'redis://localhost:6379' or 'rediss://user:password@host:6380/0', " +
        'options of ioredis, or a client; got a string that does not start with redis:// or rediss://.',
    );
  }
  if (/^[^?]*\/\/[^/?]*,[^/?@]*(?:[/?]|$)/.test(url)) {
    throw new LockOptionsError(
      'DistributedLockModule: the redis URL names several servers. Give { nodes: […] } for a Redis Cluster, { sentinels: […], name } for ' +
        'Sentinel, or quorum for independent servers.',
    );
  }
  if (!isReadable(url)) {
    throw new LockOptionsError(
      'DistributedLockModule: the redis URL could not be read. Percent-encode special characters of the password.',
    );
  }
  const { Redis } = ioredis();
  const probe = new Redis(url, { lazyConnect: true });
  probe.disconnect();
  if (typeof (probe.options.tls as unknown) === 'string') {
    // ioredis takes any text for true.
    throw new LockOptionsError(
      'DistributedLockModule: the redis URL has a parameter tls. Write rediss:// for TLS and redis:// without it, and leave the parameter out.',
    );
  }
  return probe.options;
}

/** Whether ioredis, which also decodes it, can parse it. */
function isReadable(url: string): boolean {
  try {
    const { username, password } = new URL(url);
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

/** Names of other clients and of URLs, and what to write instead. */
const MISTAKEN = {
  url: "the URL itself, as in redis: 'redis://localhost:6379'",
  uri: "the URL itself, as in redis: 'redis://localhost:6379'",
  hostname: 'host',
  server: 'host',
  socket: 'host and port, or path for a Unix socket',
  user: 'username',
  pass: 'password',
  database: 'db',
  ssl: 'tls',
  masterName: 'name',
  rootNodes: 'nodes',
} as const;
type MistakenName = keyof typeof MISTAKEN;

/** Options that ioredis would ignore, so that it connects to another server. */
function checkServerNames(options: object): void {
  for (const name of Object.keys(options)) {
    if (REDIS_OPTION_NAMES.has(name)) continue;
    const instead = name in MISTAKEN ? MISTAKEN[name as MistakenName] : undefined;
    throw new LockOptionsError(
      `DistributedLockModule: redis has no option ${name}; ` +
        (instead === undefined
          ? `known are ${[...REDIS_OPTION_NAMES].join(', ')}. For an option of a newer ioredis, give a client: redis: new Redis({ … }).`
          : `give ${instead}.`),
    );
  }
}

/** Rejects options that ioredis would silently misread. */
function checkServerOptions(options: RedisServerOptions): void {
  checkServerNames(options);
  const { db = 0 } = options;
  // Settings from the environment are strings, which ioredis accepts, too.
  const port: unknown = options.port ?? 6379;
  const rule = "the database of redis must be a number from 0, as in 'redis://localhost:6379/0'";
  check(Number.isInteger(db) && db >= 0, WHERE, rule, db);
  const number = Number(port);
  const isPort = Number.isInteger(number) && number >= 0 && number <= 65_535;
  check(isPort, WHERE, 'the port of redis must be a number from 0 to 65535', port);
  const sentinels: unknown = options.sentinels; // ioredis defaults to null
  if (sentinels !== undefined && sentinels !== null) checkSentinels(options);
}

function checkSentinels({ sentinels, name, role }: RedisServerOptions): void {
  const example = "redis: { sentinels: [{ host: 'sentinel-1', port: 26379 }, …], name: 'mymaster' }";
  if (!Array.isArray(sentinels) || sentinels.length === 0) {
    throw new LockOptionsError(
      `DistributedLockModule: redis.sentinels must list at least one Sentinel, as in ${example}; got ${shownWithoutText(sentinels)}.`,
    );
  }
  const isName = typeof name === 'string' && name !== '';
  check(isName, WHERE, `redis.name must be the name that Sentinel gives the primary, as in ${example}`, name);
  const isPrimary = role === undefined || role === 'master';
  check(isPrimary, WHERE, "redis.role must be 'master', since locks can't be kept on a replica", role);
}

function addressOf({ sentinels, name, path, host = 'localhost', port = 6379 }: RedisOptions): string {
  if (sentinels) {
    const addresses = sentinels.map((one) => `${one.host ?? 'localhost'}:${String(one.port ?? 26_379)}`);
    return `"${name ?? ''}" by Sentinel (${addresses.join(', ')})`;
  }
  return path ?? `${host}:${String(port)}`;
}

function nodeOptions(where: string, node: unknown): RedisServerOptions {
  if (typeof node === 'number') return { host: 'localhost', port: node };
  if (typeof node === 'string') return optionsOf(node.includes('://') ? node : `redis://${node}`);
  checkServerOptions(checkObject(where, node));
  return node as RedisServerOptions; // just checked
}

function addressesOf(client: Cluster): string[] {
  const nodes = (client as unknown as { startupNodes?: readonly unknown[] }).startupNodes ?? [];
  return nodes.map((node) => addressOf(nodeOptions(`${WHERE}: redis`, node) as RedisOptions));
}

/** Clients of other packages look like one of ioredis, but lack what locks need. */
function checkClient(client: object): void {
  const problem =
    'isOpen' in client || 'isReady' in client
      ? 'a client of node-redis (the package redis)'
      : client.constructor.name.includes('Mock')
        ? 'a mock of ioredis, which does not run the Lua scripts of locks'
        : !('status' in client && 'options' in client) && 'no client of ioredis';
  if (problem === false) return;
  const instead = problem.includes('mock')
    ? "store: 'memory' in tests, or a real server"
    : "its URL, as in redis: 'redis://localhost:6379', its options, or a client of ioredis";
  throw new LockOptionsError(`DistributedLockModule: redis is ${problem}. Give ${instead}.`);
}

/** By shape: the user's ioredis may be another copy. */
function isCluster(client: Redis | Cluster): client is Cluster {
  return client.isCluster;
}
