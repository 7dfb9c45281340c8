import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../../../.scripts/servers/free-port.mjs';
import { whenReady } from '../../../.scripts/servers/processes.mjs';
import { REDIS_READY, redisArguments } from '../../../.scripts/servers/redis.mjs';
import { end, spawnTied } from '../lifeline.mjs';

/** One redis-server on a free port of the loopback interface, without persistence. */
export class RedisInstance {
  port = 0;
  /** For faults and inspection; its own connection without a proxy. @type {Redis} */
  admin;
  #program;
  #directory;
  #settings;
  #process;

  /** @param {Readonly<Record<string, string>>} settings of the server, or `undefined` for a sentinel */
  constructor(program, directory, settings) {
    this.#program = program;
    this.#directory = directory;
    this.#settings = settings;
  }

  get address() {
    return `127.0.0.1:${this.port}`;
  }

  async start() {
    for (let attempt = 1; ; attempt++) {
      this.port = await freePort();
      if (await this.#launch()) break;
      if (attempt === 20) throw new Error('redis-server did not start on any of 20 free ports');
    }
    this.admin = new Redis({ port: this.port, retryStrategy: () => 50, maxRetriesPerRequest: null });
    this.admin.on('error', () => undefined); // it reconnects; some faults affect it, too
    await this.admin.ping();
  }

  /** Kills the server and starts an empty one on the same port. */
  async restart() {
    await end(this.#process);
    for (let attempt = 1; !(await this.#launch()); attempt++) {
      if (attempt === 100) throw new Error(`redis-server did not come back on port ${this.port}`);
      await elapse(50);
    }
  }

  async stopFor(ms) {
    this.#process.kill('SIGSTOP');
    await elapse(ms);
    this.#process.kill('SIGCONT');
  }

  /** The fields of `INFO`. */
  async info(...sections) {
    const text = await this.admin.info(...sections);
    return Object.fromEntries(text.split('\r\n').map((line) => line.split(/:(.*)/)));
  }

  async close() {
    this.admin?.disconnect();
    if (this.#process) await end(this.#process);
  }

  /** @returns {Promise<boolean>} false when another process uses the port */
  async #launch() {
    const folder = join(this.#directory, `redis-${this.port}`);
    mkdirSync(folder, { recursive: true });
    this.#process = spawnTied(this.#program, this.#arguments(folder), {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return (await whenReady(this.#process, REDIS_READY)).isReady;
  }

  #arguments(folder) {
    const args = redisArguments({ port: this.port, folder });
    if (this.#settings !== undefined) {
      return [...args, ...Object.entries(this.#settings).flatMap(([name, value]) => [`--${name}`, value])];
    }
    // A sentinel keeps its state in its configuration file.
    const file = join(folder, 'sentinel.conf');
    writeFileSync(file, `bind 127.0.0.1\nport ${this.port}\ndir ${folder}\n`);
    return [file, '--sentinel'];
  }
}
