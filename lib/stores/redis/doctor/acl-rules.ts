/** The commands inside the scripts. */
const IN_SCRIPTS = [
  'time',
  'exists',
  'set',
  'del',
  'hset',
  'hget',
  'hdel',
  'hexists',
  'hmget',
  'hlen',
  'hkeys',
  'hgetall',
  'pexpire',
  'pttl',
  'zadd',
  'zscore',
  'zrange',
  'zrem',
];
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

/** The rules of a Redis user for locks, in the syntax of `ACL SETUSER`. */
export function aclRules(prefix: string, used: UsedFeatures): readonly string[] {
  const names = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}*`;
  const commands = [
    ...ALWAYS,
    ...IN_SCRIPTS,
    ...(used.sharded ? SHARDED_MESSAGES : MESSAGES),
    ...(used.cluster ? IN_CLUSTER : []),
    ...(used.replicas ? ['wait'] : []),
    ...(used.database ? ['select'] : []),
    ...(used.operations === true ? OPERATIONS : []),
  ];
  return [`~${names}`, `&${names}`, ...commands.map((command) => `+${command}`)];
}
