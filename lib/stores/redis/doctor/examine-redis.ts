import { randomUUID } from 'node:crypto';
import { sentenceOf } from '../../../common/sentence.js';
import type { LockStoreError } from '../../port/lock-store.js';
import { ClusterMap } from '../connection/cluster-map.js';
import { plainCommand } from '../connection/ioredis.js';
import {
  redisConnector,
  type ClusterConnector,
  type RedisConnection,
  type ServerConnector,
} from '../connection/redis-connection.js';
import { notConnected } from '../connection/redis-failure.js';
import { ServerConnection } from '../connection/server-connection.js';
import { KeyNames } from '../scripts/key-names.js';
import { latencyOf, ok, problem, warning, type Finding } from './finding.js';
import {
  checkedServer,
  examineServer,
  unlessRejected,
  type CheckedServer,
  type Info,
} from './server-checks.js';

/** How long a server may take to reply, ms. */
const TIMEOUT = 2_000;
/** The part of `maxmemory` above which a server is nearly full. */
const NEARLY_FULL = 0.9;
/** How far two clocks may differ, ms. */
const MAX_OFFSET = 1_000;
/** At most how many parts of a database are scanned for locks under other prefixes, and about how many names each has. */
const MOST_LOOKS = 100;
const LOOK = 1_000;
const PINGS = 30;
/** A median above this is slow, ms. */
const SLOW = 20;
/** A single reply above this is a stall, ms. */
const STALLED = 200;
const FORGETS_LOCKS =
  'Two processes may then hold the same lock for a moment. Set `appendonly yes` and `appendfsync always`, or let the guarded resource check fencing tokens.';

/** The findings of `doctor` at one server. */
export interface ServerReport {
  readonly server: string;
  readonly findings: readonly Finding[];
}

/**
 * Examines with the rights of the user whether a server, or every primary of a cluster, is fit for locks.
 *
 * @param keyPrefix the start of the names of locks
 * @param replicas how many must confirm a grant; 0 for none
 * @throws LockOptionsError for a connection that cannot work
 */
export async function examineRedis(
  connection: RedisConnection,
  keyPrefix: string,
  replicas: number,
): Promise<readonly ServerReport[]> {
  const connector = redisConnector(connection);
  const names = new KeyNames(connector.keyPrefix + keyPrefix, connector.kind === 'cluster');
  if (connector.kind === 'cluster') return await examineCluster(connector, names, replicas);
  return [await examineOne(connector, names, replicas, undefined)];
}

/** Why `doctor` could not connect, and what to do about it. */
export function connectionProblem({ message, remedy }: LockStoreError): Finding {
  const isDatabase = message.includes('does not have the database');
  const advice = remedy ?? 'Check the address, and that the server is up.';
  return problem(isDatabase ? 'database' : 'connection', `${sentenceOf(message)} ${advice}`);
}

async function examineCluster(
  connector: ClusterConnector,
  names: KeyNames,
  replicas: number,
): Promise<readonly ServerReport[]> {
  const map = new ClusterMap(connector, TIMEOUT, () => undefined);
  try {
    await map.connect();
    const servers = map.servers();
    if (servers.length === 0) throw new Error('none of its nodes knows which servers have the slots');
    return await Promise.all(
      servers.map(({ connector: server, slot }) => examineOne(server, names, replicas, slot)),
    );
  } catch (error) {
    const failure = notConnected(map.failure ?? (error as Error));
    return [{ server: `Redis Cluster at ${connector.address}`, findings: [connectionProblem(failure)] }];
  } finally {
    map.close();
  }
}

/** @param slot a slot of the server in a cluster; undefined for a single server */
async function examineOne(
  connector: ServerConnector,
  names: KeyNames,
  replicas: number,
  slot: number | undefined,
): Promise<ServerReport> {
  const ignore = (): void => undefined;
  const link = new ServerConnection(connector, TIMEOUT, { back: ignore, lost: ignore });
  const findings: Finding[] = [];
  try {
    const startedAt = performance.now();
    await link.open();
    findings.push(ok('connection', `connected in ${(performance.now() - startedAt).toFixed(0)} ms`));
    const server = checkedServer(link, names, `doctor-${randomUUID()}`, replicas, slot, {
      prefix: names.prefix,
    });
    findings.push(...(await findingsOf(server, names)));
  } catch (error) {
    // ioredis also connects to a server without the database.
    const failure = link.failureOf(error);
    if (findings.length === 0) findings.push(connectionProblem(failure));
    else
      findings.push(
        problem('connection', `${sentenceOf(failure.message)} Look at the log of the server, and try again.`),
      );
  } finally {
    link.close();
  }
  return { server: `Redis at ${connector.address}`, findings };
}

async function findingsOf(server: CheckedServer, names: KeyNames): Promise<readonly Finding[]> {
  const { info, findings } = await examineServer(server);
  const { link, user } = server;
  return [
    ...findings,
    ...(info === undefined ? [] : [...memoryFinding(info), await persistenceFinding(link, info)]),
    ...(await listingFindings(link, names.prefix, user)),
    ...(await clockFinding(link)),
    ...(await latencyFinding(link)),
  ];
}

function memoryFinding(info: Info): readonly Finding[] {
  const max = Number(info.get('maxmemory') ?? 0);
  const used = Number(info.get('used_memory') ?? 0);
  if (!(max > 0) || used < max * NEARLY_FULL) return [];
  const share = `${Math.round((used / max) * 100)} % of maxmemory is used`;
  const text = `${share}: when it is full, no lock can be acquired (OOM). Raise maxmemory, or move the locks to a separate server.`;
  return [used >= max ? problem('memory', text) : warning('memory', text)];
}

/** Which locks survive a restart of the server. */
async function persistenceFinding(link: ServerConnection, info: Info): Promise<Finding> {
  const check = 'persistence';
  const isAppendOnly = info.get('aof_enabled') === '1';
  if (isAppendOnly && info.get('aof_last_write_status') === 'err') {
    const failed = 'It could not write its append-only file';
    return problem(check, `${failed}, so it rejects writes (MISCONF). Check its log and its disk.`);
  }
  if (isAppendOnly) {
    const fsync = await setting(link, 'appendfsync');
    if (fsync === 'always') {
      return ok(check, 'appendonly yes, appendfsync always: a restart keeps every lock');
    }
    if (fsync === undefined) {
      return ok(check, 'appendonly yes; how often it is written to disk is unknown (CONFIG is not allowed)');
    }
    const lost =
      fsync === 'everysec' ? 'up to a second of locks' : 'locks that the system has not written yet';
    const text = `appendonly yes, appendfsync ${fsync}: a crash of its machine forgets ${lost}. ${FORGETS_LOCKS}`;
    return warning(check, text);
  }
  const save = await setting(link, 'save');
  if (save === '') {
    return warning(check, `It keeps nothing on disk: a restart forgets all locks. ${FORGETS_LOCKS}`);
  }
  const how = save === undefined ? 'It has no append-only file' : `It writes snapshots only (save ${save})`;
  return warning(check, `${how}: a restart forgets the locks since the last snapshot. ${FORGETS_LOCKS}`);
}

/** Undefined if the user may not run `CONFIG`. */
async function setting(link: ServerConnection, name: string): Promise<string | undefined> {
  const reply: unknown = await unlessRejected(link, (redis) => plainCommand(redis, 'CONFIG', 'GET', name));
  const value: unknown = Array.isArray(reply) ? reply[1] : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** Only the command line and `list()` of an application need SCAN. */
async function listingFindings(
  link: ServerConnection,
  prefix: string,
  user: string,
): Promise<readonly Finding[]> {
  try {
    return await prefixFindings(link, prefix);
  } catch (error) {
    const { name, message } = error as Error;
    if (name !== 'ReplyError') throw error;
    const text = `list and watch without a key can't be used (${message}). Locks do not need it; to allow it: ACL SETUSER ${user} +scan`;
    return [warning('listing', text)];
  }
}

/**
 * The locks of other prefixes: who examines the wrong one finds nothing. Each prefix that was ever used has fencing tokens.
 * Visits the first names of a large database only.
 */
async function prefixFindings(link: ServerConnection, own: string): Promise<readonly Finding[]> {
  const fences = await namesLike(link, '*@:fence*', 'string');
  const prefixes = new Set(fences.names.map((name) => name.replace(/@:fence(:\{\d+\})?$/, '')).sort());
  const held = new Map<string, number>();
  let { isComplete } = fences;
  for (const prefix of [own, ...prefixes]) {
    const names = new KeyNames(prefix);
    const found = await namesLike(link, names.patternOf(''), 'hash');
    const isOthers = (name: string): boolean =>
      [...prefixes].some((other) => other.length > prefix.length && name.startsWith(other));
    isComplete &&= found.isComplete;
    const keys = found.names.filter((name) => names.keyOf(name) !== undefined && !isOthers(name));
    if (keys.length > 0) held.set(prefix, keys.length);
  }
  const others = [...held].filter(([prefix]) => prefix !== own);
  if (others.length === 0) {
    const partly = `only ${String(MOST_LOOKS * LOOK)} keys of the database were looked at for locks under other prefixes`;
    return isComplete || held.has(own) ? [] : [ok('prefix', partly)];
  }
  const list = others.map(([prefix, count]) => `${JSON.stringify(prefix)} (${String(count)})`).join(', ');
  if (held.has(own)) return [ok('prefix', `locks are also held under the prefixes ${list}`)];
  const text = `No lock is held under the prefix ${JSON.stringify(own)}, but under ${list}. If your application sets keyPrefix, give the same, with --key-prefix.`;
  return [warning('prefix', text)];
}

async function namesLike(
  { redis, watch }: ServerConnection,
  pattern: string,
  type: string,
): Promise<{ names: readonly string[]; isComplete: boolean }> {
  const found = new Set<string>();
  let cursor = '0';
  let looks = 0;
  do {
    const scan = plainCommand<[string, string[]]>(
      redis,
      'SCAN',
      cursor,
      'MATCH',
      pattern,
      'COUNT',
      LOOK,
      'TYPE',
      type,
    );
    const [next, names] = await watch.request(scan);
    for (const name of names) found.add(name);
    cursor = next;
    looks += 1;
  } while (cursor !== '0' && looks < MOST_LOOKS);
  return { names: [...found], isComplete: cursor === '0' };
}

async function clockFinding(link: ServerConnection): Promise<readonly Finding[]> {
  const sentAt = Date.now();
  const startedAt = performance.now();
  const time = await unlessRejected(link, (redis) => plainCommand<readonly unknown[]>(redis, 'TIME'));
  if (time === undefined) return [];
  const [seconds, micros] = time;
  const oneWay = (performance.now() - startedAt) / 2;
  const offset = Number(seconds) * 1_000 + Number(micros) / 1_000 - (sentAt + oneWay);
  const text = `${Math.abs(offset / 1_000).toFixed(3)} s ${offset < 0 ? 'behind' : 'ahead of'} this machine's`;
  if (Math.abs(offset) - oneWay <= MAX_OFFSET) return [ok('clock', text)];
  const remedy =
    'times of locks look wrong, and jobs that start by the clock need a longer holdAtLeast. Synchronise both clocks, slewing instead of stepping them.';
  return [warning('clock', `${text}: ${remedy}`)];
}

async function latencyFinding(link: ServerConnection): Promise<readonly Finding[]> {
  if ((await unlessRejected(link, (redis) => redis.ping())) === undefined) return [];
  const { median, longest } = await latencyOf(() => link.watch.request(link.redis.ping()), PINGS);
  const text = `${median.toFixed(1)} ms round trip, ${longest.toFixed(1)} ms at most (${PINGS} pings)`;
  if (median > SLOW) {
    const remedy = 'acquiring a free lock takes that long. Move the locks closer to the applications.';
    return [warning('latency', `${text}: ${remedy}`)];
  }
  if (longest > STALLED) {
    const remedy =
      'the server or the network stalls at times. Look for slow commands (SLOWLOG GET), swapping and snapshots.';
    return [warning('latency', `${text}: ${remedy}`)];
  }
  return [ok('latency', text)];
}
