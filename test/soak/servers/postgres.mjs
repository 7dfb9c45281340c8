import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import pg from 'pg';
import { end, spawnTied } from '../lifeline.mjs';
import { monotonic } from '../monotonic.mjs';
import { freePort } from './free-port.mjs';
import { load } from './module-options.mjs';

/** It does not run as root. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
/** So few that a storm takes all of them. */
const CONNECTIONS = 60;
/** Of the connections of the library, all but those of whoever asks. */
const OF_LOCKS = "application_name = 'nestjs-distributed-lock'";

/** The PostgreSQL of a run, on a free port of the loopback interface. What it has committed survives its end. */
export class PostgresUnderTest {
  #programs;
  #env;
  #directory;
  #build;
  #process;
  #pausedUntil = 0;
  #admin;
  port = 0;

  constructor({ programs, libraries }, directory, build) {
    this.#programs = programs;
    this.#env = { ...process.env, ...(libraries && { LD_LIBRARY_PATH: libraries }) };
    this.#directory = join(directory, 'postgres');
    this.#build = build;
  }

  async start() {
    mkdirSync(this.#directory, { mode: 0o755 });
    if (NOBODY.uid !== undefined) {
      // It has to find its way there.
      chownSync(dirname(this.#directory), NOBODY.uid, NOBODY.gid);
      chownSync(this.#directory, NOBODY.uid, NOBODY.gid);
    }
    const how = ['-D', this.#data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    execFileSync(join(this.#programs, 'initdb'), how, { ...this.#asNobody, stdio: 'ignore' });
    this.port = await freePort();
    await this.#launch();
    const { postgresMigration } = await load(this.#build.entry, 'stores/postgres/index.js');
    await this.#ask(postgresMigration());
  }

  get url() {
    return this.urlAt(this.port);
  }

  urlAt(port) {
    return `postgres://postgres@127.0.0.1:${port}/postgres`;
  }

  /** The largest fencing token given out so far. */
  async fence() {
    const [row] = await this.#ask('SELECT last_value AS fence FROM distributed_lock.tokens');
    return Number(row.fence);
  }

  async isWritable() {
    await elapse(Math.max(0, this.#pausedUntil - monotonic()));
  }

  /** Once what crashed processes have left is swept, as clients do it from time to time. */
  async leftovers() {
    await this.#ask('SELECT distributed_lock.sweep()');
    const rows = await this.#ask(
      `SELECT 'hold ' || key AS name FROM distributed_lock.holds
        UNION ALL SELECT 'waiter for ' || key FROM distributed_lock.waiters`,
    );
    return rows.map(({ name }) => ({ name, ttl: -1 }));
  }

  isTransient() {
    return true;
  }

  /** What is done to the server: weight, name, act. */
  faults({ random, note }) {
    return [
      [8, 'connections killed by the server', (name) => this.#cut(random, note, name)],
      [5, 'statements cancelled', (name) => this.#cancel(note, name)],
      [5, 'tables locked by others', (name) => this.#lockTables(random, note, name)],
      [4, 'server stopped', (name) => this.#stopForAWhile(random, note, name)],
      [3, 'connection storm', (name) => this.#storm(random, note, name)],
      [2, 'server killed and started again', (name) => this.#killAndStart(note, name)],
      [2, 'server restarted', (name) => this.#restart(note, name)],
    ];
  }

  async close() {
    await this.#admin?.end().catch(() => undefined);
    if (this.#process) await this.#kill();
  }

  async #cut(random, note, name) {
    note(name);
    const all = await this.#ask(`SELECT pid FROM pg_stat_activity WHERE ${OF_LOCKS}`);
    if (all.length === 0) return;
    const pids = random.chance(0.3) ? all : [random.pick(all)];
    await this.#ask('SELECT pg_terminate_backend(pid) FROM unnest($1::integer[]) AS pid', [
      pids.map(({ pid }) => pid),
    ]);
  }

  async #cancel(note, name) {
    note(name);
    await this.#ask(
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE ${OF_LOCKS} AND state = 'active'`,
    );
  }

  /** As a migration of somebody's would, or a backup. */
  async #lockTables(random, note, name) {
    const ms = random.between(20, 1_200);
    note(name, { ms });
    this.#pausedUntil = monotonic() + ms;
    const client = await this.#connectInTheEnd();
    try {
      await client.query('BEGIN; LOCK TABLE distributed_lock.holds IN ACCESS EXCLUSIVE MODE');
      await elapse(ms);
      await client.query('COMMIT');
    } finally {
      client.end().catch(() => undefined);
    }
  }

  async #stopForAWhile(random, note, name) {
    const ms = random.between(20, 2_500);
    note(name, { ms });
    const pids = this.#processes();
    for (const pid of pids) signal(pid, 'SIGSTOP');
    await elapse(ms);
    for (const pid of pids) signal(pid, 'SIGCONT');
  }

  /** Whoever loses a connection meanwhile gets no other. */
  async #storm(random, note, name) {
    const ms = random.between(100, 1_500);
    note(name, { ms });
    // Later there is none for the run itself.
    await this.#ask('SELECT 1');
    const clients = await Promise.allSettled(Array.from({ length: CONNECTIONS }, () => this.#connect()));
    const open = clients.flatMap(({ status, value }) => (status === 'fulfilled' ? [value] : []));
    try {
      await this.#ask(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${OF_LOCKS}`);
      await elapse(ms);
    } finally {
      await Promise.all(open.map((client) => client.end().catch(() => undefined)));
    }
  }

  /** All its processes at once, as with a loss of power. */
  async #killAndStart(note, name) {
    note(name);
    await this.#kill();
    await this.#launch();
  }

  /** As an operator does it. */
  async #restart(note, name) {
    note(name);
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGINT');
    await exited;
    await this.#launch();
  }

  async #kill() {
    const [main, ...others] = this.#processes();
    signal(main, 'SIGSTOP');
    for (const pid of others) signal(pid, 'SIGKILL');
    await end(this.#process);
  }

  /** The main process first. */
  #processes() {
    const { pid } = this.#process;
    const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
    return [pid, ...children.split('\n').map(Number).filter(Boolean)];
  }

  get #data() {
    return join(this.#directory, 'data');
  }

  get #asNobody() {
    return { ...NOBODY, cwd: this.#directory, env: this.#env };
  }

  /** The last one may still be about to let go of what it had. */
  async #launch() {
    for (let attempt = 1; !(await this.#start()); attempt++) {
      if (attempt === 100) throw new Error(`PostgreSQL did not start on port ${this.port}`);
      await elapse(50);
    }
  }

  /** @returns {Promise<boolean>} false when it ended at once */
  async #start() {
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      fsync: 'off',
      max_connections: CONNECTIONS,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const server = spawnTied(
      join(this.#programs, 'postgres'),
      ['-D', this.#data, '-p', `${this.port}`, ...args],
      {
        ...this.#asNobody,
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    this.#process = server;
    const exited = once(server, 'exit').then(() => false);
    const ready = (async () => {
      for await (const text of server.stderr)
        if (`${text}`.includes('ready to accept connections')) return true;
      return false;
    })();
    const started = await Promise.race([exited, ready]);
    server.stderr.resume();
    return started;
  }

  async #connect() {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  /** Also where others have all connections at the moment. */
  async #connectInTheEnd() {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#connect();
      } catch (error) {
        if (attempt === 100) throw error;
        await elapse(100);
      }
    }
  }

  /** By a connection of its own, past all proxies. Again, where the connection was lost by what was done to the server. */
  async #ask(text, values) {
    for (let attempt = 1; ; attempt++) {
      try {
        this.#admin ??= await this.#connect();
        const { rows } = await this.#admin.query(text, values);
        return rows;
      } catch (error) {
        this.#admin?.end().catch(() => undefined);
        this.#admin = undefined;
        if (attempt === 50) throw error;
        await elapse(100);
      }
    }
  }
}

/** It may have ended by itself. */
function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
