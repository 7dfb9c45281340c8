/** What the benchmark itself sends in order to measure. */
const NOT_COUNTED = new Set(['config', 'info', 'ping', 'flushall', 'hello', 'client', 'auth', 'select']);
const SCRIPTS = new Set(['eval', 'evalsha', 'fcall']);

/**
 * @typedef {object} CommandCounts commands that the server executed, those inside scripts included
 * @property {number} scripts EVALSHA and EVAL
 * @property {number} publish
 * @property {number} others
 */

/** Counts what a server does, over a connection of its own. */
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

  /** @returns {Promise<number>} ms of processor time that the server has used so far */
  async processorMs() {
    const text = await this.client.info('cpu');
    const [user, system] = ['user', 'sys'].map((kind) =>
      Number(new RegExp(`^used_cpu_${kind}:([\\d.]+)`, 'm').exec(text)[1]),
    );
    return (user + system) * 1_000;
  }

  async version() {
    return /^redis_version:(\S+)/m.exec(await this.client.info('server'))[1];
  }
}
