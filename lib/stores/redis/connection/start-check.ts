import type { Redis } from 'ioredis';
import { aclRules, type UsedFeatures } from './acl-rules.js';
import type { PubSubMode } from '../pubsub/grant-channel.js';
import { LockStoreError } from '../../port/lock-store.js';
import { refusal } from './redis-failure.js';
import type { RefusedCommand } from '../scripts/replies.js';
import { scripts } from '../scripts/scripts.js';
import type { ScriptCall } from '../scripts/script.js';

/** What is to be checked of a server before its locks are relied on. */
export interface CheckedServer {
  readonly redis: Redis;
  /** For log lines. */
  readonly address: string;
  readonly user: string;
  /** What the names of everything in it start with. */
  readonly prefix: string;
  readonly used: Omit<UsedFeatures, 'sharded'>;
  /** How many replicas have to confirm a grant; 0 for none. */
  readonly replicas: number;
  readonly channel: string;
  /** Names to try commands on, which must be in a slot of the server. */
  readonly trial: string;
  /** One more connection, for a subscription. */
  connect(): Redis;
}

/** What the check found. */
export interface CheckResult {
  /** For the log line at start; undefined when the server does not tell of itself. */
  readonly description: string | undefined;
  /** How clients listen there. */
  readonly mode: PubSubMode;
  /** What is wrong, each with what to do about it. */
  readonly warnings: readonly string[];
}

/** Rejects if the server does not answer. */
export async function checkServer(server: CheckedServer): Promise<CheckResult> {
  const { info, mode, problems } = await examineServer(server);
  return { description: info && descriptionOf(info), mode, warnings: problems.map(({ warning }) => warning) };
}

/** What a server tells of itself (`INFO`). */
export type Info = ReadonlyMap<string, string>;

/** Something that is wrong with a server. */
export interface ServerProblem {
  readonly about: 'rights' | 'version' | 'role' | 'eviction';
  /** What it is, and what to do about it. */
  readonly warning: string;
}

/** What can be said of a server, each thing by itself. */
interface Examination {
  /** Undefined when the server does not tell of itself. */
  readonly info: Info | undefined;
  readonly mode: PubSubMode;
  readonly problems: readonly ServerProblem[];
}

/** Rejects if the server does not answer. */
export async function examineServer(server: CheckedServer): Promise<Examination> {
  const info = await infoOf(server);
  const mode = modeOf(server, info);
  const rights = permissionWarning(server, mode, await refusedCommands(server, mode));
  const problems: ServerProblem[] = rights === undefined ? [] : [{ about: 'rights', warning: rights }];
  if (info === undefined) return { info, mode, problems };
  for (const [about, warningOf] of CHECKS) {
    const warning = warningOf(server, info);
    if (warning !== undefined) problems.push({ about, warning });
  }
  return { info, mode, problems };
}

/** What may be wrong with a server that tells of itself. */
const CHECKS = [
  ['version', versionWarning],
  ['role', clusterWarning],
  ['eviction', memoryWarning],
  ['role', replicaWarning],
] as const;

async function infoOf(
  { redis }: Pick<CheckedServer, 'redis'>,
  ...sections: readonly string[]
): Promise<Info | undefined> {
  try {
    const text = await redis.info(...sections);
    return new Map(text.split('\r\n').map((line) => split(line)));
  } catch (error) {
    // Some who manage a Redis don't allow it. The permissions are told apart from this.
    if ((error as Error).name === 'ReplyError') return undefined;
    throw error;
  }
}

function split(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1)];
}

function modeOf({ used }: CheckedServer, info: Info | undefined): PubSubMode {
  if (!used.cluster) return 'p';
  const [major = 0] = (info?.get('redis_version') ?? '7').split('.').map(Number);
  return major < 7 ? 'a' : 's';
}

/** Its version, eviction policy and replicas in a few words. */
export function descriptionOf(info: Info): string {
  const valkey = info.get('valkey_version');
  const version = valkey === undefined ? `Redis ${info.get('redis_version') ?? ''}` : `Valkey ${valkey}`;
  const policy = info.get('maxmemory_policy') ?? 'unknown eviction policy';
  const replicas = replicasOf(info);
  return [version, policy, ...(replicas === 0 ? [] : [counted(replicas)])].join(', ');
}

function versionWarning({ address }: CheckedServer, info: Info): string | undefined {
  // Valkey tells the version of Redis that it is compatible with here.
  const [major = 0, minor = 0] = (info.get('redis_version') ?? '').split('.').map(Number);
  if (major > 6 || (major === 6 && minor >= 2)) return undefined;
  const version = info.get('redis_version') ?? 'unknown';
  return `Redis at ${address} is version ${version}; locks need Redis 6.2 or Valkey 7.2, or newer. Upgrade the server.`;
}

function clusterWarning({ address, used }: CheckedServer, info: Info): string | undefined {
  if (used.cluster || info.get('cluster_enabled') !== '1') return undefined;
  return (
    `Redis at ${address} is part of a Redis Cluster, but is used as a single server: locks whose slots other servers ` +
    `have can't be taken. Give redis: { nodes: ['redis://${address}'] } instead.`
  );
}

function memoryWarning({ address }: CheckedServer, info: Info): string | undefined {
  const policy = info.get('maxmemory_policy');
  if (policy === undefined || policy === 'noeviction') return undefined;
  return (
    `Redis at ${address} has the maxmemory-policy ${policy}: when its memory is full it evicts keys, and with them locks ` +
    'that are held. Set maxmemory-policy to noeviction, or keep the locks on a server of their own.'
  );
}

function replicasOf(info: Info): number {
  return info.get('role') === 'slave' ? 0 : Number(info.get('connected_slaves') ?? 0);
}

function counted(replicas: number): string {
  return `${String(replicas)} ${replicas === 1 ? 'replica' : 'replicas'}`;
}

function replicaWarning(
  { address, replicas }: Pick<CheckedServer, 'address' | 'replicas'>,
  info: Info,
): string | undefined {
  if (info.get('role') === 'slave') {
    return (
      `Redis at ${address} is a replica, where no lock can be taken. Give the address of its primary, or of Sentinel: ` +
      "redis: { sentinels: [{ host, port }], name: 'mymaster' }."
    );
  }
  const connected = replicasOf(info);
  if (connected >= replicas) return undefined;
  return (
    `Redis at ${address} has ${counted(connected)} connected, but replicas.min is ${String(replicas)}: no lock can be ` +
    'taken before there are as many. Connect replicas, or lower replicas.min.'
  );
}

async function refusedCommands(server: CheckedServer, mode: PubSubMode): Promise<RefusedCommand[]> {
  const found = await Promise.all([
    inScripts(server, mode),
    alone('INFO', server.redis.info('server')),
    alone('PING', server.redis.ping()),
    subscription(server, mode),
    ...(server.replicas > 0 ? [alone('WAIT', server.redis.wait(0, 1))] : []),
  ]);
  return found.flat();
}

async function inScripts(
  { redis, trial, channel }: CheckedServer,
  mode: PubSubMode,
): Promise<readonly RefusedCommand[]> {
  const call: ScriptCall<readonly RefusedCommand[]> = scripts.checkPermissions.with(trialNames(trial), {
    mode,
    channel,
  });
  const { text, keyCount, words } = call;
  const byDigest = await alone('EVALSHA', redis.evalsha(text.sha, keyCount, ...words));
  let reply: unknown;
  const byText = await alone(
    'EVAL',
    redis.eval(text.source, keyCount, ...words).then((answer) => {
      reply = answer;
    }),
  );
  const refused = reply === undefined ? [] : call.decode(reply);
  return [...byDigest, ...byText, ...refused.filter(({ error }) => isPermission(error))];
}

/** A call that tries what grants depend on, and has no effect. */
export function trialOf(trial: string): ScriptCall<readonly RefusedCommand[]> {
  return scripts.checkPermissions.with(trialNames(trial), { mode: '', channel: '' });
}

/** @throws LockStoreError if a server that refused these commands can grant no lock */
export function checkRefused(
  server: Pick<CheckedServer, 'address' | 'user' | 'prefix' | 'used'>,
  mode: PubSubMode,
  refused: readonly RefusedCommand[],
): void {
  const [first] = refused;
  if (first === undefined) return;
  const rights = permissionWarning(
    server,
    mode,
    refused.filter(({ error }) => isPermission(error)),
  );
  if (rights === undefined) throw refusal(first.error.replace(/^@user_script: ?\d+: -?/, ''));
  throw new LockStoreError(rights, { inDoubt: false, retryable: false });
}

/** @throws LockStoreError unless as many replicas are connected as have to confirm a grant */
export async function checkReplicas(
  server: Pick<CheckedServer, 'redis' | 'address' | 'replicas'>,
): Promise<void> {
  const info = await infoOf(server, 'replication');
  const warning = info && replicaWarning(server, info);
  if (warning !== undefined) throw new LockStoreError(warning, { inDoubt: false, retryable: true });
}

function trialNames(trial: string): { readonly hash: string; readonly sorted: string } {
  return { hash: `${trial}:hash`, sorted: `${trial}:sorted` };
}

async function subscription(server: CheckedServer, mode: PubSubMode): Promise<readonly RefusedCommand[]> {
  const { channel } = server;
  const client = server.connect();
  client.on('error', () => undefined);
  try {
    await client.connect();
    const refused =
      mode === 's'
        ? await alone('SSUBSCRIBE', client.ssubscribe(channel))
        : await alone('SUBSCRIBE', client.subscribe(channel));
    await client.quit();
    return refused;
  } finally {
    client.disconnect();
  }
}

/** Whether the user may run one command. */
async function alone(command: string, answer: Promise<unknown>): Promise<RefusedCommand[]> {
  try {
    await answer;
  } catch (cause) {
    const { name, message } = cause as Error;
    if (isPermission(message)) return [{ command, error: message }];
    // Anything else that Redis answers is no matter of permissions.
    if (name !== 'ReplyError') throw cause;
  }
  return [];
}

/** Whether it says that the user lacks a right: to a command, or to one in a script (as Redis and as Valkey say it). */
function isPermission(error: string): boolean {
  return ['NOPERM', 'user executing the script', 'ACL failure in script'].some((words) =>
    error.includes(words),
  );
}

function permissionWarning(
  server: Pick<CheckedServer, 'address' | 'user' | 'prefix' | 'used'>,
  mode: PubSubMode,
  refused: readonly RefusedCommand[],
): string | undefined {
  const [first] = refused;
  if (first === undefined) return undefined;
  const { address, user, prefix, used } = server;
  const rules = aclRules(prefix, { ...used, sharded: mode === 's' });
  const commands = [...new Set(refused.map(({ command }) => command))].join(', ');
  return (
    `The user "${user}" of Redis at ${address} may not do everything that locks need: ${commands} ` +
    `(${refusal(first.error).message}). Give it these rules: ACL SETUSER ${user} ${rules.join(' ')}`
  );
}
