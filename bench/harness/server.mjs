import { connectIoredis } from '../candidates/ioredis-client.mjs';
import { killAllActors } from './actor.mjs';
import { exitOnSignals } from './exit-on-signals.mjs';
import { startPrivateRedis } from './private-redis.mjs';

/**
 * Starts the Redis server for all measurements of this process. The server and all actors end with the process.
 *
 * @param {string} program path of redis-server
 */
export async function openServer(program) {
  const redis = await startPrivateRedis(program);
  process.once('exit', () => {
    killAllActors();
    redis.stop();
  });
  exitOnSignals();
  return { url: redis.url, stats: new ServerStats(await connectIoredis(redis.url)) };
}

/** Commands that the benchmark itself sends. */
const NOT_COUNTED = new Set(['config', 'info', 'ping', 'flushall', 'hello', 'client', 'auth', 'select']);
const SCRIPTS = new Set(['eval', 'evalsha', 'fcall']);

/**
 * @typedef {object} CommandCounts commands that the server executed, including those inside scripts
 * @property {number} scripts EVALSHA and EVAL
 * @property {number} publish
 * @property {number} others
 */

/** Reads the counters of a Redis server, over a separate connection. */
export class ServerStats {
  /** @param {import('ioredis').Redis} client */
  constructor(client) {
    this.client = client;
  }

  async empty() {
    await this.client.flushall();
  }

  async reset() {
    await this.client.config('RESETSTAT');
  }

  /** @returns {Promise<CommandCounts>} since the last reset */
  async counts() {
    const counts = { scripts: 0, publish: 0, others: 0 };
    const text = await this.client.info('commandstats');
    for (const [, name, calls] of text.matchAll(/^cmdstat_([^:|]+)[^:]*:calls=(\d+)/gm)) {
      if (NOT_COUNTED.has(name)) continue;
      const group = SCRIPTS.has(name) ? 'scripts' : name.endsWith('publish') ? 'publish' : 'others';
      counts[group] += Number(calls);
    }
    return counts;
  }

  /** @returns {Promise<number>} processor time of the server so far, ms */
  async processorMs() {
    const text = await this.client.info('cpu');
    const [user, system] = ['user', 'sys'].map((kind) =>
      Number(new RegExp(`^used_cpu_${kind}:([\\d.]+)`, 'm').exec(text)[1]),
    );
    return (user + system) * 1_000;
  }

  /** Stops the server. Returns a function that lets it go on. */
  async stop() {
    const pid = Number(/^process_id:(\d+)/m.exec(await this.client.info('server'))[1]);
    process.kill(pid, 'SIGSTOP');
    return () => process.kill(pid, 'SIGCONT');
  }

  /** @returns {Promise<import('../stores/store-stats.mjs').StoreSize>} */
  async size() {
    const numberIn = async (section, name) =>
      Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(await this.client.info(section))[1]);
    return {
      entries: await this.client.dbsize(),
      bytes: await numberIn('memory', 'used_memory'),
      connections: (await numberIn('clients', 'connected_clients')) - 1,
    };
  }

  async version() {
    return /^redis_version:(\S+)/m.exec(await this.client.info('server'))[1];
  }
}
