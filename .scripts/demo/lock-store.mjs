import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { freePort } from '../servers/free-port.mjs';
import { PORT_TAKEN, REDIS_READY, redisArguments } from '../servers/redis.mjs';
import { SetupError, ensureRedisServer } from '../setup.mjs';
import { startPrivateEtcd } from './private-etcd.mjs';
import { startPrivatePostgres } from './private-postgres.mjs';
import { startPrivateZooKeeper } from './private-zookeeper.mjs';
import { readyLine } from './ready-line.mjs';

const ATTEMPTS = 3;

async function startPrivateRedis(program, folder, leftovers) {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const redis = leftovers.spawn(program, redisArguments({ port, folder }));
    try {
      await readyLine(redis, { name: 'redis-server', pattern: REDIS_READY, within: 20_000 });
      return `redis://127.0.0.1:${port}`;
    } catch (error) {
      // Another process may have taken the port since the check.
      if (attempt === ATTEMPTS || !PORT_TAKEN.test(error.message)) throw error;
    }
  }
}

/** Uses the ioredis of the sample app, which supports every kind of URL, including TLS and passwords. */
function connect(url, sampleApp) {
  const { Redis } = createRequire(`${sampleApp}/package.json`)('ioredis');
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 5_000 });
  // The calls themselves report what is wrong.
  client.on('error', () => {});
  return client;
}

async function withClient(url, sampleApp, work) {
  const client = connect(url, sampleApp);
  const problem = once(client, 'error').then(
    ([error]) => error,
    (error) => error,
  );
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    // ioredis rejects with "Connection is closed" and reports the cause as an event.
    const reason = /closed/i.test(error.message) ? await Promise.race([problem, error]) : error;
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

async function useServerOf(url, sampleApp, leftovers) {
  if (!/^rediss?:\/\/./.test(url)) {
    throw new SetupError(
      'REDIS_URL must look like redis://localhost:6379 or rediss://user:password@host:6380.',
    );
  }
  await withClient(url, sampleApp, (client) => client.ping());
  const mark = `lock-demo-${randomBytes(6).toString('hex')}`;
  leftovers.task(() => withClient(url, sampleApp, (client) => deleteKeysWith(mark, client)));
  return {
    title: 'the Redis of REDIS_URL',
    env: { LOCK_STORE: 'redis', REDIS_URL: url, LOCK_KEY_PREFIX: `${mark}:` },
    // Not the URL itself, which may contain a password.
    list: `LOCK_REDIS_URL="$REDIS_URL" npx nestjs-distributed-lock list --key-prefix ${mark}:`,
  };
}

/**
 * Prepares the store of the locks: the server of `REDIS_URL`, a private Redis, or the memory of a single instance. With
 * `kind`, a private PostgreSQL, etcd or ZooKeeper. `kills`: whether its leader will be killed.
 *
 * @returns {Promise<{ title: string, env: Record<string, string>, single?: boolean, privateUrl?: string, list?: string,
 *   killLeader?: () => Promise<void>, killedText?: string, recoveredText?: string }>} `list`: a command line that lists
 *   the locks; `killLeader`: resolves when the store serves locks again
 */
export async function prepareLockStore({ kind, kills, folder, sampleApp, leftovers, log }) {
  if (kind === 'postgres') {
    const { url: privateUrl, killAndStart } = await startPrivatePostgres(folder, leftovers, log);
    const env = { LOCK_STORE: 'postgres', POSTGRES_URL: privateUrl, LOCK_KEY_PREFIX: '' };
    return {
      title: 'a private PostgreSQL',
      env,
      privateUrl,
      killLeader: killAndStart,
      killedText: 'The server of the locks was killed',
      recoveredText: 'it was back',
    };
  }
  if (kind === 'etcd') {
    const members = kills ? 3 : 1;
    const { hosts, killLeader } = await startPrivateEtcd(members, folder, leftovers, log);
    return {
      title: kills ? 'a private etcd of three members' : 'a private etcd',
      env: { LOCK_STORE: 'etcd', ETCD_HOSTS: hosts, LOCK_KEY_PREFIX: '' },
      privateUrl: hosts,
      killLeader,
      killedText: 'The leader of the etcd with the locks was killed',
      recoveredText: 'there was a new one',
    };
  }
  if (kind === 'zookeeper') {
    const { hosts, killLeader } = await startPrivateZooKeeper(folder, leftovers, log);
    return {
      title: 'a private ZooKeeper of three members',
      env: { LOCK_STORE: 'zookeeper', ZOOKEEPER_HOSTS: hosts, LOCK_KEY_PREFIX: '' },
      privateUrl: hosts,
      killLeader,
      killedText: 'The leader of the ZooKeeper with the locks was killed',
      recoveredText: 'there was a new one',
    };
  }
  const url = process.env['REDIS_URL'];
  if (url) return useServerOf(url, sampleApp, leftovers);

  const server = ensureRedisServer({ log, required: false });
  await leftovers.checkpoint();
  if (server) {
    const privateUrl = await startPrivateRedis(server.path, folder, leftovers);
    const env = { LOCK_STORE: 'redis', REDIS_URL: privateUrl, LOCK_KEY_PREFIX: 'lock:' };
    const list = `npx nestjs-distributed-lock list --redis ${privateUrl} --key-prefix ${env.LOCK_KEY_PREFIX}`;
    return { title: 'a private Redis', env, privateUrl, list };
  }
  return { title: 'the memory of one process', env: { LOCK_STORE: 'memory' }, single: true };
}
