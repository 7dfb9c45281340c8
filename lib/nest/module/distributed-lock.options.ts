import { LockOptionsError } from '../../model/lock.errors.js';
import {
  check,
  checkBound,
  checkKeyPrefix,
  checkNames,
  checkObject,
  checkOptions,
  checkTime,
  flag,
  oneOf,
  shownWithoutText,
  time,
  type Checked,
  type OptionCheck,
} from '../../model/option-checks.js';
import { FallbackLockStore } from '../../stores/fallback/fallback-lock-store.js';
import type { LockStore } from '../../stores/port/lock-store.js';
import { MemoryLockStore } from '../../stores/memory/memory-lock-store.js';
import { QuorumLockStore } from '../../stores/quorum/quorum-lock-store.js';
import {
  checkRedisConnection,
  type RedisConnection,
} from '../../stores/redis/connection/redis-connection.js';
import { RedisLockStore } from '../../stores/redis/redis-lock-store.js';
import { resolveReplicas, type ReplicaOptions } from '../../stores/redis/replicas.js';

/** How lock errors are reported over HTTP. */
export interface LockHttpOptions {
  /**
   * HTTP status if the lock was still held when the wait ended: 400 … 599.
   *
   * @default 423
   */
  readonly busyStatus?: number | undefined;
}

/** How lock errors are reported to callers of message handlers (RPC). */
export interface LockRpcOptions {
  /**
   * Whether callers receive the error's `keys` and its full message, which names the key and may name the holder. Set
   * it to `false` if callers are not your own services: they then receive the `code` and a message without the key.
   *
   * @default true
   */
  readonly showKeys?: boolean | undefined;
}

interface CommonOptions {
  /**
   * Prefix of the names of locks in Redis: at most 256 bytes of UTF-8. It may contain a complete hash tag such as
   * `{app}`, but no other braces. Applications that use the same locks must set the same prefix.
   *
   * @default 'lock:'
   */
  readonly keyPrefix?: string | undefined;
  /**
   * How long a call without `waitTime` waits for a lock: 0 … 2 147 483 647 ms, or `Infinity`.
   *
   * @default 5_000
   */
  readonly waitTime?: number | undefined;
  /**
   * How many callers of this process may wait for a key, for calls without `maxWaiting`: a whole number from 0, or
   * `Infinity`. Further calls for a held lock fail at once with a `LockQueueFullError`, a 429 over HTTP.
   *
   * @default Infinity
   */
  readonly maxWaiting?: number | undefined;
  /**
   * Whether calls re-enter a hold of their asynchronous context, for calls without `reentrant`.
   *
   * @default true
   */
  readonly reentrant?: boolean | undefined;
  /**
   * The lease of a lock without `leaseTime`: 300 … 2 147 483 647 ms. The watchdog renews it every third of this time.
   * After a crash the lock stays held for at most this long, on etcd and ZooKeeper for 1.5 times as long, rounded up to
   * whole seconds (on etcd for 2.5 s if that is longer). A holder that can't reach the store loses the lock after this long.
   *
   * @default 30_000
   */
  readonly watchdogTimeout?: number | undefined;
  /**
   * How long held locks may delay the end of the application: 0 … 2 147 483 647 ms. It counts from when Nest stops the
   * servers, after all `beforeApplicationShutdown` hooks, so a grace period in which the application still serves is not part
   * of it. Locks stay usable until Nest has stopped everything that uses them; locks still held then have the rest of this
   * time. After it, running work is notified that its lock is lost, and the lock is released when that work ends, or expires.
   * Calls with an unlimited wait fail with `LockClosedError` this long after the beginning of shutdown.
   *
   * @default 10_000
   */
  readonly shutdownTimeout?: number | undefined;
  /**
   * A hold older than this is logged once and reported by the health indicator, since its `release()` may be missing or
   * its work may hang: 1 000 … 2 147 483 647 ms, or `false` for never. Both show its `label` and, unless `NODE_ENV` is
   * `production`, where `acquire()` was called. The lock stays held and is still renewed.
   *
   * @default 600_000
   */
  readonly warnHeldAfter?: number | false | undefined;
  /**
   * What happens to calls while the store is unreachable, that is, without a connection or a reply. `'throw'`: they
   * fail with a `LockUnavailableError`. `'local'`: locks are acquired in this process only until the store is back;
   * **other processes are not excluded meanwhile**. `handle.local` marks each such hold; a `local` event and a log line
   * report each change. Holds that the store granted before are not affected: they are lost if they can't be renewed in
   * time. A store that rejects requests is not unreachable. A custom store sets `unreachable` of its `LockStoreError`.
   *
   * @default 'throw'
   * @throws LockOptionsError with `store: 'memory'`, which is always reachable
   */
  readonly onUnavailable?: 'throw' | 'local' | undefined;
  /**
   * Whether the application refuses to start, with a `LockUnavailableError`, while the store is unreachable or rejects the
   * password, the database or the rights of the user, as far as that can be checked without writing.
   *
   * @default false: the application starts, and calls fail until the store is fit for locks
   */
  readonly requireStoreAtStart?: boolean | undefined;
  /**
   * How a global exception filter reports lock errors over HTTP. `false` turns the filter off, also for clients of
   * GraphQL, WebSockets and message handlers.
   */
  readonly http?: LockHttpOptions | false | undefined;
  /** How lock errors are reported to callers of message handlers (RPC). */
  readonly rpc?: LockRpcOptions | undefined;
}

/** Locks on one Redis server, on the primary of a Sentinel group, or on a Redis Cluster. */
export interface RedisModuleOptions extends CommonOptions {
  /**
   * A URL (`redis://` or `rediss://`), options of ioredis (with `sentinels` and `name` for Sentinel), `nodes` and
   * `options` of a Redis Cluster, or an ioredis client (`Redis` or `Cluster`). A client is duplicated, never used or
   * closed; its own `keyPrefix` precedes this module's.
   */
  readonly redis: RedisConnection;
  /**
   * How many replicas must confirm a grant or a renewal (`WAIT`), so that a failover to one of them keeps the lock.
   * Costs one more round trip; with fewer replicas, locks can't be acquired.
   *
   * @default none: a failover may lose the most recent grants
   */
  readonly replicas?: ReplicaOptions | undefined;
  readonly quorum?: undefined;
  readonly store?: undefined;
}

/** Locks on several independent Redis servers, by majority (Redlock). */
export interface QuorumModuleOptions extends CommonOptions {
  /**
   * The connection of each server, as for `redis`. A lock is held while more than half of them grant it: three servers
   * tolerate the loss of one, five of two; an even number tolerates no more than one server less. The servers must not
   * replicate each other, and none may be listed twice. Applications that use the same locks must list the same servers.
   */
  readonly quorum: readonly RedisConnection[];
  readonly store?: undefined;
}

/** Locks in memory, or in a custom store. */
export interface StoreModuleOptions extends CommonOptions {
  /** `'memory'`: this process only, for development and tests. Or any object that implements {@link LockStore}. */
  readonly store: 'memory' | LockStore;
}

/**
 * Options of `DistributedLockModule`: exactly one of `redis`, `quorum` and `store`. The members of the union declare
 * few of the others' properties, so that the compiler's message about a possibly undefined `redis` names `redis`.
 */
export type DistributedLockOptions = RedisModuleOptions | QuorumModuleOptions | StoreModuleOptions;

const WHERE = 'DistributedLockModule';
/** They belong to the import of the module; Nest removes them from the options of `forRoot`. */
const EXTRAS = ['name', 'isGlobal'];
const PLACES = ['redis', 'quorum', 'store'] as const;
const CHECKS = {
  keyPrefix: checkPrefix,
  waitTime: time(5_000, { min: 0, infinite: true }),
  maxWaiting: (where: string, name: string, value: unknown = Infinity) => checkBound(where, name, value),
  reentrant: flag(true),
  watchdogTimeout: time(30_000, { min: 300 }),
  shutdownTimeout: time(10_000, { min: 0 }),
  /** `Infinity` for never. */
  warnHeldAfter: (where: string, name: string, value: unknown = 600_000) =>
    value === false ? Infinity : checkTime(where, name, value, { min: 1_000 }),
  onUnavailable: oneOf('throw', ['local']),
  requireStoreAtStart: flag(false),
  http: checkHttp,
  rpc: checkRpc,
} satisfies Readonly<Record<keyof CommonOptions, OptionCheck<unknown>>>;

export type ResolvedModuleOptions = Omit<Checked<typeof CHECKS>, 'keyPrefix' | 'onUnavailable'> & {
  readonly store: LockStore;
};

/** Checks the options and applies the defaults. */
export function resolveModuleOptions(options: DistributedLockOptions): ResolvedModuleOptions {
  const extra = EXTRAS.find((name) => name in checkObject(WHERE, options));
  if (extra !== undefined) {
    throw new LockOptionsError(
      `${WHERE}: ${extra} belongs next to useFactory (useClass, useExisting), not in the options that it returns: ` +
        `forRootAsync({ ${extra}: …, useFactory: … }).`,
    );
  }
  const others = [...PLACES, 'replicas', ...EXTRAS];
  const { keyPrefix, onUnavailable, ...settings } = checkOptions(WHERE, options, CHECKS, others);
  const store = checkStore(options, keyPrefix, settings.watchdogTimeout);
  if (onUnavailable === 'local' && options.store === 'memory') {
    throw new LockOptionsError(
      `${WHERE}: onUnavailable: 'local' has no effect with store: 'memory', which is always reachable. Leave it out.`,
    );
  }
  return { ...settings, store: onUnavailable === 'local' ? new FallbackLockStore(store) : store };
}

/** The options as JavaScript may pass them. */
interface GivenOptions extends CommonOptions {
  readonly redis?: RedisConnection | undefined;
  readonly replicas?: ReplicaOptions | undefined;
  readonly quorum?: readonly RedisConnection[] | undefined;
  readonly store?: 'memory' | LockStore | undefined;
}

const SAMPLES = {
  redis: "forRoot({ redis: 'redis://localhost:6379' })",
  quorum: "forRoot({ quorum: ['redis://a:6379', 'redis://b:6379', 'redis://c:6379'] })",
  store: "forRoot({ store: 'memory' })",
};

/** @throws LockOptionsError unless there is exactly one of `redis`, `quorum` and `store` */
function checkPlace(options: GivenOptions): void {
  const given = PLACES.filter((place) => options[place] !== undefined);
  if (given.length === 1) return;
  const empty = given.length === 0 ? PLACES.find((place) => place in options) : undefined;
  if (empty !== undefined) {
    throw new LockOptionsError(
      `${WHERE}: ${empty} is undefined. If it comes from an environment variable or another setting, that one is not ` +
        `set: set it, or write a value, such as ${SAMPLES[empty]}.`,
    );
  }
  throw new LockOptionsError(
    `${WHERE}: give exactly one of redis, quorum and store, such as ${SAMPLES.redis}, ${SAMPLES.quorum} or ` +
      `${SAMPLES.store}; got ${given.length === 0 ? 'none of them' : given.join(' and ')}.`,
  );
}

function checkStore(options: GivenOptions, keyPrefix: string, watchdogTimeout: number): LockStore {
  const { redis, quorum, store, replicas } = options;
  checkPlace(options);
  if (redis === undefined && replicas !== undefined) {
    throw new LockOptionsError(
      `${WHERE}: replicas goes with redis; leave it out with ${quorum === undefined ? 'store' : 'quorum'}, where it has no meaning.`,
    );
  }
  if (quorum !== undefined) return checkQuorum(quorum, keyPrefix);
  if (redis !== undefined) {
    checkRedisConnection(redis);
    const resolved =
      replicas === undefined ? undefined : resolveReplicas(`${WHERE}: replicas`, replicas, watchdogTimeout);
    return new RedisLockStore(redis, keyPrefix, resolved);
  }
  if (store === 'memory') return new MemoryLockStore();
  const isStore =
    typeof store === 'object' && (store as LockStore | null) !== null && typeof store.open === 'function';
  check(isStore, WHERE, "store must be 'memory' or an object that implements LockStore", store);
  return store;
}

function checkQuorum(quorum: unknown, keyPrefix: string): LockStore {
  if (!Array.isArray(quorum) || quorum.length === 0) {
    throw new LockOptionsError(
      `${WHERE}: quorum must be an array with one entry for each server, ` +
        `such as ['redis://a:6379', 'redis://b:6379', 'redis://c:6379']; got ${Array.isArray(quorum) ? 'an empty array' : shownWithoutText(quorum)}.`,
    );
  }
  const indexByServer = new Map<string, number>();
  const members = quorum.map((entry: unknown, index) => {
    const member = checkMember(entry, index, keyPrefix);
    // Two databases of one server fail together.
    const server = member.name.replace(/, database \d+$/, '');
    const twin = indexByServer.get(server);
    if (twin !== undefined) {
      throw new LockOptionsError(
        `${WHERE}: quorum[${String(index)}] is the same server as quorum[${String(twin)}] (${server}), ` +
          'which would have two votes. List each server once.',
      );
    }
    indexByServer.set(server, index);
    return member;
  });
  return new QuorumLockStore(members);
}

function checkMember(entry: unknown, index: number, keyPrefix: string): RedisLockStore {
  try {
    checkRedisConnection(entry);
    return new RedisLockStore(entry as RedisConnection, keyPrefix);
  } catch (error) {
    if (!(error instanceof LockOptionsError)) throw error;
    const reason = error.message.replace(`${WHERE}: `, '');
    throw new LockOptionsError(`${WHERE}: quorum[${String(index)}]: ${reason}`);
  }
}

function checkPrefix(where: string, name: string, prefix: unknown = 'lock:'): string {
  checkKeyPrefix(where, prefix);
  // Half a tag would make the names of one lock fall into different hash slots of a cluster.
  const isWhole = !/[{}]/.test(prefix.replace(/\{[^{}]+\}/, ''));
  check(isWhole, where, `${name} may contain one hash tag such as {app}, but no other braces`, prefix);
  return prefix;
}

function checkRpc(where: string, name: string, rpc: unknown = {}): { readonly showKeys: boolean } {
  checkNames(`${where}: ${name}`, checkObject(`${where}: ${name}`, rpc), new Set(['showKeys']));
  return { showKeys: flag(true)(where, 'rpc.showKeys', (rpc as LockRpcOptions).showKeys) };
}

function checkHttp(where: string, name: string, http: unknown = {}): { readonly busyStatus: number } | false {
  if (http === false) return false;
  checkNames(`${where}: ${name}`, checkObject(`${where}: ${name}`, http), new Set(['busyStatus']));
  const { busyStatus = 423 } = http as LockHttpOptions;
  const isError = Number.isInteger(busyStatus) && busyStatus >= 400 && busyStatus <= 599;
  check(isError, where, 'http.busyStatus must be an HTTP error status from 400 to 599', busyStatus);
  return { busyStatus };
}
