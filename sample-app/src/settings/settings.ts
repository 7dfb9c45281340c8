export type LockStoreName = 'redis' | 'postgres' | 'etcd' | 'zookeeper' | 'memory';

/** The settings from the environment, read and checked once at the start. */
export class Settings {
  private constructor(
    readonly host: string,
    /** 0 picks a free port, which is printed at the start. */
    readonly port: number,
    /** The SQLite file that all instances share. */
    readonly databaseFile: string,
    readonly lockStore: LockStoreName,
    readonly redisUrl: string,
    readonly postgresUrl: string,
    readonly etcdHosts: readonly string[],
    readonly zookeeperHosts: readonly string[],
    readonly lockKeyPrefix: string,
    /** How long an order waits for its article before it is rejected with 423, in ms. */
    readonly lockWaitTime: number,
    /** How long the simulated fraud check of an order takes, in ms. */
    readonly fraudCheckLatency: number,
  ) {}

  static fromEnvironment(env: NodeJS.ProcessEnv): Settings {
    return new Settings(
      env['HOST'] ?? '127.0.0.1',
      integer(env, 'PORT', 3_000, 65_535),
      env['DATABASE_FILE'] ?? 'shop.db',
      lockStore(env['LOCK_STORE'] ?? 'redis'),
      env['REDIS_URL'] ?? 'redis://127.0.0.1:6379',
      env['POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres',
      (env['ETCD_HOSTS'] ?? '127.0.0.1:2379').split(','),
      (env['ZOOKEEPER_HOSTS'] ?? '127.0.0.1:2181').split(','),
      env['LOCK_KEY_PREFIX'] ?? 'lock:',
      integer(env, 'LOCK_WAIT_TIME', 30_000, 600_000),
      integer(env, 'FRAUD_CHECK_LATENCY', 5, 60_000),
    );
  }
}

function integer(env: NodeJS.ProcessEnv, name: string, fallback: number, max: number): number {
  const text = env[name];
  if (text === undefined) return fallback;
  const value = Number(text);
  if (text.trim() === '' || !Number.isInteger(value) || value < 0 || value > max) {
    throw new Error(`${name} must be a whole number from 0 to ${max}, not "${text}".`);
  }
  return value;
}

function lockStore(name: string): LockStoreName {
  const names: readonly LockStoreName[] = ['redis', 'postgres', 'etcd', 'zookeeper', 'memory'];
  const known = names.find((one) => one === name);
  if (known !== undefined) return known;
  throw new Error(`LOCK_STORE must be one of ${names.join(', ')}, not "${name}".`);
}
