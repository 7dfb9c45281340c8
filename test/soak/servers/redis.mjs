import { setTimeout as elapse } from 'node:timers/promises';
import { monotonic } from '../monotonic.mjs';
import { RedisInstance } from './redis-instance.mjs';

/** Blocks the server, as a slow script would. */
const BUSY = 'for _ = 1, tonumber(ARGV[1]) * 100000 do end';

/** The Redis server of a run. Subclasses have several `servers`, and other places for the locks. */
export class RedisUnderTest {
  pushes = 'messages';
  /** @type {RedisInstance[]} */
  servers = [];
  #program;
  #directory;
  #pausedUntil = 0;

  constructor(program, directory) {
    this.#program = program;
    this.#directory = directory;
  }

  async start() {
    await this.launch(1);
  }

  /** The server that has the locks. */
  get primary() {
    return this.servers[0];
  }

  get port() {
    return this.primary.port;
  }

  /** The ports to which the proxies of a process lead. */
  get targets() {
    return [() => this.port];
  }

  get url() {
    return this.urlAt(...this.targets.map((port) => port()));
  }

  urlAt(port) {
    return `redis://127.0.0.1:${port}`;
  }

  /** Starts some servers. */
  async launch(count, settings = {}) {
    for (let i = 0; i < count; i++) this.servers.push(this.instance(settings));
    await Promise.all(this.servers.map((server) => server.start()));
  }

  /** @returns {RedisInstance} not yet started; without settings a sentinel */
  instance(settings) {
    return new RedisInstance(this.#program, this.#directory, settings);
  }

  /** The largest fencing token issued so far; 0 before the first. */
  async fence() {
    return await this.tokenAt(this.primary, 'lock:@:fence');
  }

  async tokenAt(server, name) {
    return Number((await server.admin.get(name)) ?? 0);
  }

  /** Resolves when writes are carried out again. */
  async isWritable() {
    await elapse(Math.max(0, this.#pausedUntil - monotonic()));
  }

  /** The servers that have locks at present. */
  get primaries() {
    return [this.primary];
  }

  /** The token counter and tombstones may stay; the checker knows for how long. */
  async leftovers() {
    const left = await Promise.all(
      this.primaries.map(async ({ admin }) => {
        const names = await admin.keys('*');
        return await Promise.all(names.map(async (name) => ({ name, ttl: await admin.pttl(name) })));
      }),
    );
    return left.flat().filter(({ ttl }) => ttl !== -2);
  }

  /** Whether the key should disappear, but does not expire. */
  isTransient({ name }) {
    return !/^lock:@:(fence|gone)(:|$)/.test(name);
  }

  /** The server never saves, so nothing resets its counter of changes. */
  async census() {
    const info = await this.primary.info();
    return {
      entries: await this.primary.admin.dbsize(),
      writes: Number(info['rdb_changes_since_last_save']),
      bytes: Number(info['used_memory']),
    };
  }

  /** The faults of the server as `[weight, name, act]`. */
  faults(means) {
    return [
      ...this.passingFaults(means),
      [1, 'server restarted, all data lost', (name) => this.#loseAll(means.note, means.record, name)],
    ];
  }

  /** The faults that cost no data, at any of the servers. */
  passingFaults({ random, note }) {
    const any = () => random.pick(this.servers);
    return [
      [8, 'connections killed by the server', (name) => this.#cut(any(), random, note, name)],
      [5, 'server paused', (name) => this.#pause(any(), random, note, name)],
      [6, 'scripts flushed', (name) => this.#flushScripts(any(), note, name)],
      [4, 'server stopped', (name) => this.#stopForAWhile(any(), random, note, name)],
      [3, 'server occupied', (name) => this.#occupy(any(), random, note, name)],
    ];
  }

  async #cut({ admin }, random, note, name) {
    note(name);
    if (random.chance(0.3)) {
      await admin.client('KILL', 'TYPE', random.pick(['normal', 'pubsub']), 'SKIPME', 'yes');
      return;
    }
    const clients = `${await admin.client('LIST')}`.split('\n').filter((line) => /id=/.test(line));
    const own = await admin.client('ID');
    const ids = clients.map((line) => /\bid=(\d+)/.exec(line)?.[1]).filter((id) => Number(id) !== own);
    if (ids.length > 0) await admin.client('KILL', 'ID', random.pick(ids));
  }

  async #pause({ admin }, random, note, name) {
    const ms = random.between(20, 1_200);
    note(name, { ms });
    this.#pausedUntil = monotonic() + ms;
    await admin.client('PAUSE', ms, random.pick(['ALL', 'WRITE']));
  }

  async #flushScripts({ admin }, note, name) {
    note(name);
    await admin.script('FLUSH');
  }

  async #stopForAWhile(server, random, note, name) {
    const ms = random.between(20, 2_500);
    note(name, { ms });
    await server.stopFor(ms);
  }

  async #occupy({ admin }, random, note, name) {
    const ms = random.between(20, 500);
    note(name, { ms });
    await admin.eval(BUSY, 0, ms);
  }

  async #loseAll(note, record, name) {
    note(name);
    await this.isWritable();
    const since = monotonic();
    // No writes between the read of the counter and the kill.
    await this.primary.admin.client('PAUSE', 10_000, 'WRITE');
    const fence = await this.fence();
    await this.primary.restart();
    record({ e: 'doomed', since, fence });
    record({ e: 'restarted', fence });
  }

  async close() {
    await Promise.all(this.servers.map((server) => server.close()));
  }
}
