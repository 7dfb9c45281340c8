import { plainCommand } from '../connection/ioredis.js';
import type { Redis } from 'ioredis';
import { LockStoreError } from '../../port/lock-store.js';
import { checkFormat, type UnknownFormatError } from '../../port/stored-format.js';
import { rejection } from '../connection/redis-failure.js';
import type { ServerConnection } from '../connection/server-connection.js';
import type { PubSubMode } from '../scripts/key-names.js';
import type { KeyNames } from '../scripts/key-names.js';
import { scripts, type RejectedCommand, type ScriptCall } from '../scripts/scripts.js';
import { aclRules, commandsInScripts, type Rights, type UsedFeatures } from './acl-rules.js';
import { ok, problem, warning, type Finding } from './finding.js';

/** A server, and how locks use it. */
export interface CheckedServer {
  /** For log lines. */
  readonly address: string;
  readonly user: string;
  readonly rights: Rights;
  readonly used: Omit<UsedFeatures, 'sharded'>;
  /** How many replicas must confirm a grant; 0 for none. */
  readonly replicas: number;
  readonly channel: string;
  /** The start of names for trying commands, in a slot of the server. */
  readonly trial: string;
  /** The name of the mark that other formats leave. */
  readonly format: string;
  readonly link: ServerConnection;
}

export interface ExaminedServer {
  /** Undefined if the user may not run `INFO`. */
  readonly info: Info | undefined;
  readonly mode: PubSubMode;
  /** Set if the stored locks have a format that this version does not know. */
  readonly refusal: UnknownFormatError | undefined;
  readonly findings: readonly Finding[];
}

/** The reply to `INFO`. */
export type Info = ReadonlyMap<string, string>;

/** @param slot a slot of the server in a cluster; undefined for a single server */
export function checkedServer(
  link: ServerConnection,
  names: KeyNames,
  client: string,
  replicas: number,
  slot: number | undefined,
  rights: Rights,
): CheckedServer {
  const { address, user, database } = link.connector;
  return {
    address,
    user,
    rights,
    used: { cluster: slot !== undefined, replicas: replicas > 0, database: database !== 0 },
    replicas,
    channel: names.channels(slot ?? 0) + client,
    trial: names.trial(slot ?? 0, client),
    format: names.format(slot ?? 0),
    link,
  };
}

/** The checks at start, which `doctor` runs as well. Rejects if the server does not reply. */
export async function examineServer(server: CheckedServer): Promise<ExaminedServer> {
  const [info, refusal] = await Promise.all([infoOf(server.link), formatRefusal(server)]);
  const formats = refusal === undefined ? [] : [problem('format', refusal.advice)];
  const mode = modeOf(server, info);
  const rights = findingOf('rights', `the user "${server.user}" has all rights that locks need`, [
    rightsProblem(server, mode, await rejectedCommands(server, mode)),
  ]);
  if (info === undefined) {
    const text =
      'The user may not run INFO, so version, role, eviction and persistence are unknown. Allow it.';
    return { info, mode, refusal, findings: [...formats, rights, warning('version', text)] };
  }
  const findings = [
    ...formats,
    findingOf('version', nameOf(info), [versionProblem(server, info)]),
    findingOf('role', `primary, with ${counted(replicasOf(info), 'no replica')} connected`, [
      clusterProblem(server, info),
      replicaProblem(server, info),
    ]),
    rights,
    findingOf('eviction', 'noeviction: held locks are not evicted', [evictionProblem(server, info)]),
  ];
  return { info, mode, refusal, findings };
}

/** Why this version must not use the stored locks; undefined if it may. */
async function formatRefusal({
  link,
  address,
  format,
}: CheckedServer): Promise<UnknownFormatError | undefined> {
  const mark = await unlessRejected(link, (redis) => redis.hget(format, 'format'));
  try {
    checkFormat(mark, `Redis at ${address}`, 'keyPrefix');
    return undefined;
  } catch (error) {
    return error as UnknownFormatError; // see checkFormat()
  }
}

/** A call that tries everything that grants depend on, without an effect. */
export function permissionTrial(
  { trial, rights }: CheckedServer,
  mode: PubSubMode | '' = '',
  channel = '',
): ScriptCall<readonly RejectedCommand[]> {
  const { prefix, others = [] } = rights;
  // One name of each kind.
  const [lock = '', other = ''] = others.length > 0 ? [prefix, ...others] : [];
  const names = { hash: `${lock}${trial}:hash`, sorted: `${other}${trial}:sorted`, own: trial };
  const shared = { ...names, mode, channel };
  const commands = commandsInScripts(rights).map((command) => ({ command }));
  return scripts.checkPermissions.with([], commands, shared);
}

/** @throws LockStoreError if a server that rejected these commands can grant no lock */
export function checkRejected(
  server: CheckedServer,
  mode: PubSubMode,
  rejected: readonly RejectedCommand[],
): void {
  const needed = rejected.filter(({ command }) => !isOptional(server, command));
  const [first] = needed;
  if (first === undefined) return;
  const rights = rightsProblem(
    server,
    mode,
    needed.filter(({ error }) => isPermission(error)),
  );
  if (rights === undefined) throw rejection(first.error.replace(/^@user_script: ?\d+: -?/, ''));
  throw new LockStoreError(rights, { inDoubt: false, retryable: false });
}

/** @throws LockStoreError unless enough replicas are connected to confirm a grant */
export async function checkReplicas(server: CheckedServer): Promise<void> {
  const info = await infoOf(server.link, 'replication');
  const text = info && replicaProblem(server, info);
  if (text !== undefined) throw new LockStoreError(text, { inDoubt: false, retryable: true });
}

function findingOf(check: string, otherwise: string, problems: readonly (string | undefined)[]): Finding {
  const found = problems.filter((text) => text !== undefined);
  return found.length === 0 ? ok(check, otherwise) : problem(check, found.join(' '));
}

/**
 * Sends a command. Returns undefined if the server rejects it, as some providers do: the check of rights reports what
 * the user lacks.
 */
export async function unlessRejected<T>(
  { redis, watch }: Pick<ServerConnection, 'redis' | 'watch'>,
  command: (redis: Redis) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await watch.request(command(redis));
  } catch (error) {
    if ((error as Error).name === 'ReplyError') return undefined;
    throw error;
  }
}

async function infoOf(link: ServerConnection, ...sections: readonly string[]): Promise<Info | undefined> {
  const text = await unlessRejected(link, (redis) => plainCommand<string>(redis, 'INFO', ...sections));
  const lines = text?.split('\r\n').map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1)];
  });
  return lines && new Map(lines);
}

function modeOf({ used }: CheckedServer, info: Info | undefined): PubSubMode {
  if (!used.cluster) return 'p';
  const [major = 0] = (info?.get('redis_version') ?? '7').split('.').map(Number);
  return major < 7 ? 'a' : 's';
}

/** Version, eviction policy and replicas in a few words, for the log line at start. */
export function descriptionOf(info: Info): string {
  const policy = info.get('maxmemory_policy') ?? 'unknown eviction policy';
  const replicas = info.get('role') === 'slave' ? 0 : replicasOf(info);
  return [nameOf(info), policy, ...(replicas === 0 ? [] : [counted(replicas)])].join(', ');
}

function nameOf(info: Info): string {
  const valkey = info.get('valkey_version');
  return valkey === undefined ? `Redis ${info.get('redis_version') ?? ''}` : `Valkey ${valkey}`;
}

function versionProblem({ address }: CheckedServer, info: Info): string | undefined {
  // Valkey reports here the version of Redis with which it is compatible.
  const [major = 0, minor = 0] = (info.get('redis_version') ?? '').split('.').map(Number);
  if (major > 6 || (major === 6 && minor >= 2)) return undefined;
  const version = info.get('redis_version') ?? 'unknown';
  return `Redis at ${address} is version ${version}; locks need Redis 6.2 or Valkey 8.1, or newer. Upgrade the server.`;
}

function clusterProblem({ address, used }: CheckedServer, info: Info): string | undefined {
  if (used.cluster || info.get('cluster_enabled') !== '1') return undefined;
  return (
    `Redis at ${address} is part of a Redis Cluster, but is used as a single server: locks in slots of other servers ` +
    `can't be acquired. Give redis: { nodes: ['redis://${address}'] } instead.`
  );
}

function evictionProblem({ address }: CheckedServer, info: Info): string | undefined {
  const policy = info.get('maxmemory_policy');
  if (policy === undefined || policy === 'noeviction') return undefined;
  return (
    `Redis at ${address} has the maxmemory-policy ${policy}: when its memory is full it evicts keys, including held ` +
    'locks. Set maxmemory-policy to noeviction, or move the locks to a separate server.'
  );
}

function replicaProblem({ address, replicas }: CheckedServer, info: Info): string | undefined {
  if (info.get('role') === 'slave') {
    return (
      `Redis at ${address} is a replica, where no lock can be acquired. Give the address of its primary, or of Sentinel: ` +
      "redis: { sentinels: [{ host, port }], name: 'mymaster' }."
    );
  }
  const connected = replicasOf(info);
  if (connected >= replicas) return undefined;
  return (
    `Redis at ${address} has ${counted(connected)} connected, but replicas.min is ${String(replicas)}: no lock can be ` +
    'acquired with fewer. Connect replicas, or lower replicas.min.'
  );
}

function replicasOf(info: Info): number {
  return Number(info.get('connected_slaves') ?? 0);
}

function counted(replicas: number, none = '0 replicas'): string {
  if (replicas === 0) return none;
  return `${String(replicas)} ${replicas === 1 ? 'replica' : 'replicas'}`;
}

/** Without `PUBSUB`, the scripts of the Redis store grant a lock to waiters that are gone, too. */
function isOptional({ rights }: CheckedServer, command: string): boolean {
  return command === 'PUBSUB' && rights.others === undefined;
}

function rightsProblem(
  server: CheckedServer,
  mode: PubSubMode,
  rejected: readonly RejectedCommand[],
): string | undefined {
  const { address, user, rights, used } = server;
  const [first] = rejected;
  if (first === undefined) return undefined;
  const rules = aclRules(rights, { ...used, sharded: mode === 's' });
  const commands = [...new Set(rejected.map(({ command }) => command))];
  const lacks = commands.every((command) => isOptional(server, command))
    ? 'a right, so that each waiter that has died delays the next ones by 2 s'
    : 'rights that locks need';
  return (
    `The user "${user}" of Redis at ${address} lacks ${lacks}: ${commands.join(', ')} ` +
    `(${rejection(first.error).message}). Give it these rules: ACL SETUSER ${user} ${rules.join(' ')}`
  );
}

/** All commands that the user lacks the right to. */
async function rejectedCommands(server: CheckedServer, mode: PubSubMode): Promise<RejectedCommand[]> {
  const { link, replicas } = server;
  const { redis } = link;
  const found = await Promise.all([
    inScripts(server, mode),
    alone('INFO', link, redis.info('server')),
    alone('PING', link, redis.ping()),
    subscription(server, mode),
    ...(replicas > 0 ? [alone('WAIT', link, redis.wait(0, 1))] : []),
  ]);
  return found.flat();
}

async function inScripts(server: CheckedServer, mode: PubSubMode): Promise<readonly RejectedCommand[]> {
  const { link, channel } = server;
  const { redis } = link;
  const { text, keyCount, args, decode } = permissionTrial(server, mode, channel);
  const byDigest = await alone('EVALSHA', link, redis.evalsha(text.sha, keyCount, ...args));
  let reply: unknown;
  const byText = await alone(
    'EVAL',
    link,
    plainCommand(redis, 'EVAL', text.source, keyCount, ...args).then((received) => {
      reply = received;
    }),
  );
  const rejected = reply === undefined ? [] : decode(reply);
  return [...byDigest, ...byText, ...rejected.filter(({ error }) => isPermission(error))];
}

async function subscription(
  { channel, trial, rights, link }: CheckedServer,
  mode: PubSubMode,
): Promise<readonly RejectedCommand[]> {
  const [other] = rights.others ?? [];
  const channels = other === undefined ? [channel] : [channel, other + trial];
  const another = link.another();
  another.redis.on('error', () => undefined);
  try {
    await link.connect(another.redis);
    const found = await Promise.all(
      channels.map((each) =>
        mode === 's'
          ? alone('SSUBSCRIBE', another, another.redis.ssubscribe(each))
          : alone('SUBSCRIBE', another, another.redis.subscribe(each)),
      ),
    );
    return found.flat();
  } finally {
    link.end(another.redis);
  }
}

async function alone(
  command: string,
  { watch }: Pick<ServerConnection, 'watch'>,
  reply: Promise<unknown>,
): Promise<RejectedCommand[]> {
  try {
    await watch.request(reply);
  } catch (cause) {
    const { name, message } = cause as Error;
    if (isPermission(message)) return [{ command, error: message }];
    // Other errors of Redis do not concern permissions.
    if (name !== 'ReplyError') throw cause;
  }
  return [];
}

/** Whether the user lacks a right, to a command or to one in a script, in the wording of Redis or of Valkey. */
function isPermission(error: string): boolean {
  return /NOPERM|user executing the script|ACL failure in script/.test(error);
}
