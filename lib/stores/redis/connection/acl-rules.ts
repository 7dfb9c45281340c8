/** What the scripts call; a user of Redis needs each of them. */
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
/** Since Redis 7; others know no such commands. */
const SHARDED_MESSAGES = ['spublish', 'ssubscribe'];
const IN_CLUSTER = ['cluster|slots', 'asking', 'readonly', 'client|setname'];

/** Locks do without: for the page of locks, and for lists of them. */
const OPERATIONS = ['mget', 'scan'] as const;

/** A command that only people need. */
export type OperationsCommand = (typeof OPERATIONS)[number];

/** What of Redis is used, for the permissions that it takes. */
export interface UsedFeatures {
  readonly cluster: boolean;
  /** Whether messages stay with the server of their slot. */
  readonly sharded: boolean;
  /** Whether replicas are waited for. */
  readonly replicas: boolean;
  /** Whether another database than 0 is selected. */
  readonly database: boolean;
  /** Whether people look at the locks, on the page or in lists; not if left out. */
  readonly operations?: boolean;
}

/** The rules that a user of Redis needs for locks, as `ACL SETUSER` takes them. */
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
