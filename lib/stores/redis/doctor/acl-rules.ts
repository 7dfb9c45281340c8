import { luaSource } from '../scripts/lua-source.generated.js';

const ALWAYS = ['eval', 'evalsha', 'info', 'ping'];
const MESSAGES = ['publish', 'subscribe'];
/** Since Redis 7. Older servers reject rules for unknown commands. */
const SHARDED_MESSAGES = ['spublish', 'ssubscribe'];
const IN_CLUSTER = ['cluster|slots', 'asking', 'readonly', 'client|setname'];

/** For the lock dashboard and for lists of locks, not for locks themselves. */
const OPERATIONS = ['mget', 'scan'] as const;

/** A command that locks do not need. */
export type OperationsCommand = (typeof OPERATIONS)[number];

/** The used features of Redis, each of which needs rights. */
export interface UsedFeatures {
  readonly cluster: boolean;
  /** Whether grants are pushed by sharded pub/sub. */
  readonly sharded: boolean;
  /** Whether replicas confirm grants. */
  readonly replicas: boolean;
  /** Whether the database is not 0. */
  readonly database: boolean;
  /**
   * Whether the lock dashboard or lists of locks are used.
   *
   * @default false
   */
  readonly operations?: boolean;
}

/** The commands that the scripts of a store call, except those of pub/sub. */
function commandsInScripts(isRedisson: boolean): readonly string[] {
  const calls = Object.entries(luaSource)
    .filter(([name]) => name === 'checkPermissions' || name.startsWith('redisson') === isRedisson)
    .map(([, source]) => source)
    .join('\n')
    .matchAll(/\bp?call\('([A-Z]+)'/g);
  return [...new Set(Array.from(calls, ([, command = '']) => command.toLowerCase()))].sort();
}

/**
 * The rules of a Redis user for locks, in the syntax of `ACL SETUSER`.
 *
 * @param others starts of names that the Redisson store uses besides; undefined for the Redis store
 */
export function aclRules(prefix: string, used: UsedFeatures, others?: readonly string[]): readonly string[] {
  const names = [prefix, ...(others ?? [])].map((start) => `${start.replace(/[\\*?[\]]/g, '\\$&')}*`);
  const commands = [
    ...ALWAYS,
    ...commandsInScripts(others !== undefined),
    ...(used.sharded ? SHARDED_MESSAGES : MESSAGES),
    ...(used.cluster ? IN_CLUSTER : []),
    ...(used.replicas ? ['wait'] : []),
    ...(used.database ? ['select'] : []),
    ...(used.operations === true ? OPERATIONS : []),
  ];
  return [
    ...names.map((name) => `~${name}`),
    ...names.map((name) => `&${name}`),
    ...commands.map((command) => `+${command}`),
  ];
}
