import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { SetupError, ensureRedisServer } from '../setup.mjs';
import { startRedis } from '../servers/redis.mjs';
import { startPrivateEtcd, startPrivatePostgres, startPrivateZooKeeper } from './private-servers.mjs';

/** The private servers that keep their locks when one of them is killed. */
const DURABLE = {
  postgres: {
    start: startPrivatePostgres,
    variable: 'POSTGRES_URL',
    title: 'a private PostgreSQL',
    killedText: 'The server of the locks was killed',
    recoveredText: 'it was back',
  },
  etcd: {
    start: startPrivateEtcd,
    variable: 'ETCD_HOSTS',
    title: 'a private etcd of three members',
    killedText: 'The leader of the etcd with the locks was killed',
    recoveredText: 'there was a new one',
  },
  zookeeper: {
    start: startPrivateZooKeeper,
    variable: 'ZOOKEEPER_HOSTS',
    title: 'a private ZooKeeper of three members',
    killedText: 'The leader of the ZooKeeper with the locks was killed',
    recoveredText: 'there was a new one',
  },
};

/** Uses the ioredis of the application, which supports every kind of URL, including TLS and passwords. */
async function withClient(url, application, work) {
  const { Redis } = createRequire(`${application}/package.json`)('ioredis');
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 5_000 });
  // ioredis rejects with "Connection is closed" and reports the cause as an event.
  let cause;
  client.on('error', (error) => (cause = error));
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    const reason = cause ?? error;
    throw new SetupError(`The server of REDIS_URL can't be used: ${reason.message || reason.code}`);
  } finally {
    // A second disconnect would keep the process alive for two more seconds.
    if (client.status !== 'end') client.disconnect();
  }
}

async function deleteKeysWith(mark, client) {
  let cursor = '0';
  do {
    const [next, keys] = await client.scan(cursor, 'MATCH', `*${mark}*`, 'COUNT', 1_000);
    if (keys.length > 0) await client.unlink(...keys);
    cursor = next;
  } while (cursor !== '0');
}

async function useServerOf(url, application, leftovers) {
  if (!/^rediss?:\/\/./.test(url)) {
    throw new SetupError(
      'REDIS_URL must look like redis://localhost:6379 or rediss://user:password@host:6380.',
    );
  }
  await withClient(url, application, (client) => client.ping());
  const mark = `lock-demo-${randomBytes(6).toString('hex')}`;
  leftovers.task(() => withClient(url, application, (client) => deleteKeysWith(mark, client)));
  return {
    title: 'the Redis of REDIS_URL',
    env: { LOCK_STORE: 'redis', REDIS_URL: url, LOCK_KEY_PREFIX: `${mark}:` },
    // Not the URL itself, which may contain a password.
    list: `LOCK_REDIS_URL="$REDIS_URL" npx nestjs-distributed-lock list --key-prefix ${mark}:`,
  };
}

/**
 * Prepares the store of the locks: the server of `REDIS_URL`, a private Redis, or the memory of a single instance. With
 * `kind`, a private PostgreSQL, etcd or ZooKeeper.
 *
 * @param {{ kind?: string, folder: string, application: string, leftovers: import('./leftovers.mjs').Leftovers,
 *   log: import('../setup.mjs').Log }} options `application`: the folder of one with ioredis
 * @returns {Promise<{ title: string, env: Record<string, string>, single?: boolean, url?: string, list?: string,
 *   kill?: () => Promise<void>, killedText?: string, recoveredText?: string }>} `list`: a command line that lists
 *   the locks; `kill`: resolves when the store grants locks again
 */
export async function prepareLockStore({ kind = 'redis', folder, application, leftovers, log }) {
  if (kind in DURABLE) {
    const { start, variable, ...texts } = DURABLE[kind];
    const server = await start(folder, leftovers, log);
    return { ...texts, ...server, env: { LOCK_STORE: kind, [variable]: server.url, LOCK_KEY_PREFIX: '' } };
  }
  const given = process.env['REDIS_URL'];
  if (given) return await useServerOf(given, application, leftovers);

  const server = ensureRedisServer({ log, required: false });
  await leftovers.checkpoint();
  if (server === null)
    return { title: 'the memory of one process', env: { LOCK_STORE: 'memory' }, single: true };
  const { url } = await startRedis(folder, (args) => leftovers.spawn(server.path, args).child);
  const prefix = 'lock:';
  return {
    title: 'a private Redis',
    env: { LOCK_STORE: 'redis', REDIS_URL: url, LOCK_KEY_PREFIX: prefix },
    url,
    list: `npx nestjs-distributed-lock list --redis ${url} --key-prefix ${prefix}`,
  };
}
