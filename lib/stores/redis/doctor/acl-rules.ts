import { luaScripts } from '../scripts/lua-source.generated.js';

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

/** What a user must have rights to. */
export interface Rights {
  /** The start of the names of locks. */
  readonly prefix: string;
  /** Starts of names that the Redisson store uses besides; undefined for the Redis store. */
  readonly others?: readonly string[];
}

/** The commands that the scripts of a store call, except those of pub/sub. */
export function commandsInScripts({ others }: Rights): readonly string[] {
  const calls = Object.entries(luaScripts)
    .filter(([name]) => name !== 'checkPermissions' && name.startsWith('redisson') === (others !== undefined))
    .map(([, { source }]) => source)
    .join('\n')
    .matchAll(/\bp?call\('([A-Z]+)'/g);
  return [...new Set(Array.from(calls, ([, command = '']) => command))].sort();
}

/** The rules of a Redis user for locks, in the syntax of `ACL SETUSER`. */
export function aclRules(rights: Rights, used: UsedFeatures): readonly string[] {
  const names = [rights.prefix, ...(rights.others ?? [])].map(
    (start) => `${start.replace(/[\\*?[\]]/g, '\\$&')}*`,
  );
  const commands = [
    ...ALWAYS,
    ...commandsInScripts(rights).map((command) => command.toLowerCase()),
    ...(used.sharded ? SHARDED_MESSAGES : MESSAGES),
    ...(used.cluster ? IN_CLUSTER : []),
    ...(used.replicas ? ['wait'] : []),
    ...(used.database ? ['select'] : []),
    ...(used.operations === true ? OPERATIONS : []),
  ];
  return [
    ...names.map((name) => `~${name}`),
    ...(rights.others === undefined ? names : names.slice(1)).map((name) => `&${name}`),
    ...commands.map((command) => `+${command}`),
  ];
}
