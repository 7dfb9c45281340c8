import { setTimeout as elapse } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../../../.scripts/servers/free-port.mjs';
import { whenReady } from '../../../.scripts/servers/processes.mjs';
import { REDIS_READY, redisArguments } from '../../../.scripts/servers/redis.mjs';
import { end, spawnTied } from '../lifeline.mjs';
import { monotonic } from '../monotonic.mjs';

/** Blocks the server, as a slow script would. */
const BUSY = 'for _ = 1, tonumber(ARGV[1]) * 100000 do end';

/** The Redis server of a run, on a free port of the loopback interface, without persistence. */
export class RedisUnderTest {
  pushes = 'messages';
  #program;
  #directory;
  #process;
  #pausedUntil = 0;
  port = 0;
  /** For faults and inspection; its own connection without a proxy. @type {Redis} */
  admin;

  constructor(program, directory) {
    this.#program = program;
    this.#directory = directory;
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

  get url() {
    return this.urlAt(this.port);
  }

  urlAt(port) {
    return `redis://127.0.0.1:${port}`;
  }

  /**
   * Kills the server and starts an empty one on the same port.
   *
   * @returns {Promise<number>} the last fencing token that the old server issued
   */
  async restart() {
    // No writes between the read of the counter and the kill.
    await this.admin.client('PAUSE', 10_000, 'WRITE');
    const fence = await this.fence();
    await end(this.#process);
    for (let attempt = 1; !(await this.#launch()); attempt++) {
      if (attempt === 100) throw new Error(`redis-server did not come back on port ${this.port}`);
      await elapse(50);
    }
    return fence;
  }

  /** The largest fencing token issued so far; 0 before the first. */
  async fence() {
    return Number((await this.admin.get('lock:@:fence')) ?? 0);
  }

  /** Resolves when writes are carried out again. */
  async isWritable() {
    await elapse(Math.max(0, this.#pausedUntil - monotonic()));
  }

  /** The token counter and tombstones may stay; the checker knows for how long. */
  async leftovers() {
    const names = await this.admin.keys('*');
    const keys = await Promise.all(names.map(async (name) => ({ name, ttl: await this.admin.pttl(name) })));
    return keys.filter(({ ttl }) => ttl !== -2);
  }

  /** Whether the key should disappear, but does not expire. */
  isTransient({ name }) {
    return name !== 'lock:@:fence' && !name.startsWith('lock:@:gone:');
  }

  /** The server never saves, so nothing resets its counter of changes. */
  async census() {
    const info = await this.admin.info();
    const number = (name) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
    return {
      entries: await this.admin.dbsize(),
      writes: number('rdb_changes_since_last_save'),
      bytes: number('used_memory'),
    };
  }

  /** The faults of the server as `[weight, name, act]`. */
  faults({ random, note, record }) {
    return [
      [8, 'connections killed by the server', (name) => this.#cut(random, note, name)],
      [5, 'server paused', (name) => this.#pause(random, note, name)],
      [6, 'scripts flushed', (name) => this.#flushScripts(note, name)],
      [4, 'server stopped', (name) => this.#stopForAWhile(random, note, name)],
      [3, 'server occupied', (name) => this.#occupy(random, note, name)],
      [1, 'server restarted, all data lost', (name) => this.#loseAll(note, record, name)],
    ];
  }

  async #cut(random, note, name) {
    note(name);
    if (random.chance(0.3)) {
      await this.admin.client('KILL', 'TYPE', random.pick(['normal', 'pubsub']), 'SKIPME', 'yes');
      return;
    }
    const clients = `${await this.admin.client('LIST')}`.split('\n').filter((line) => /id=/.test(line));
    const own = await this.admin.client('ID');
    const ids = clients.map((line) => /\bid=(\d+)/.exec(line)?.[1]).filter((id) => Number(id) !== own);
    if (ids.length > 0) await this.admin.client('KILL', 'ID', random.pick(ids));
  }

  async #pause(random, note, name) {
    const ms = random.between(20, 1_200);
    note(name, { ms });
    this.#pausedUntil = monotonic() + ms;
    await this.admin.client('PAUSE', ms, random.pick(['ALL', 'WRITE']));
  }

  async #flushScripts(note, name) {
    note(name);
    await this.admin.script('FLUSH');
  }

  async #stopForAWhile(random, note, name) {
    const ms = random.between(20, 2_500);
    note(name, { ms });
    this.#process.kill('SIGSTOP');
    await elapse(ms);
    this.#process.kill('SIGCONT');
  }

  async #occupy(random, note, name) {
    const ms = random.between(20, 500);
    note(name, { ms });
    await this.admin.eval(BUSY, 0, ms);
  }

  async #loseAll(note, record, name) {
    note(name);
    await this.isWritable();
    const since = monotonic();
    const fence = await this.restart();
    record({ e: 'doomed', since, fence });
    record({ e: 'restarted', fence });
  }

  async close() {
    this.admin?.disconnect();
    if (this.#process) await end(this.#process);
  }

  /** @returns {Promise<boolean>} false when another process uses the port */
  async #launch() {
    const args = redisArguments({ port: this.port, folder: this.#directory });
    this.#process = spawnTied(this.#program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    return (await whenReady(this.#process, REDIS_READY)).isReady;
  }
}
