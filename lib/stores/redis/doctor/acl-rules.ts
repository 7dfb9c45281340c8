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

/** The commands that the scripts call, except those of pub/sub. */
function commandsInScripts(): readonly string[] {
  const calls = Object.values(luaSource)
    .join('\n')
    .matchAll(/\bp?call\('([A-Z]+)'/g);
  return [...new Set(Array.from(calls, ([, command = '']) => command.toLowerCase()))].sort();
}

/** The rules of a Redis user for locks, in the syntax of `ACL SETUSER`. */
export function aclRules(prefix: string, used: UsedFeatures): readonly string[] {
  const names = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}*`;
  const commands = [
    ...ALWAYS,
    ...commandsInScripts(),
    ...(used.sharded ? SHARDED_MESSAGES : MESSAGES),
    ...(used.cluster ? IN_CLUSTER : []),
    ...(used.replicas ? ['wait'] : []),
    ...(used.database ? ['select'] : []),
    ...(used.operations === true ? OPERATIONS : []),
  ];
  return [`~${names}`, `&${names}`, ...commands.map((command) => `+${command}`)];
}
