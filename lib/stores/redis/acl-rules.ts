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
const ONE_SERVER = ['publish', 'subscribe'];
const IN_CLUSTER = ['spublish', 'ssubscribe', 'cluster|slots', 'asking', 'readonly', 'client|setname'];

/** What of Redis is used, for the permissions that it takes. */
export interface UsedFeatures {
  readonly cluster: boolean;
  /** Whether replicas are waited for. */
  readonly replicas: boolean;
  /** Whether another database than 0 is selected. */
  readonly database: boolean;
}

/** The rules that a user of Redis needs for locks, as `ACL SETUSER` takes them. */
export function aclRules(prefix: string, used: UsedFeatures): readonly string[] {
  const names = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}*`;
  const commands = [
    ...ALWAYS,
    ...IN_SCRIPTS,
    ...(used.cluster ? IN_CLUSTER : ONE_SERVER),
    ...(used.replicas ? ['wait'] : []),
    ...(used.database ? ['select'] : []),
  ];
  return [`~${names}`, `&${names}`, ...commands.map((command) => `+${command}`)];
}
