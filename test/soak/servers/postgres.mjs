import { chownSync, existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { freePort } from '../../../.scripts/servers/free-port.mjs';
import { NOBODY, postgresUrl } from '../../../.scripts/servers/postgres.mjs';
import { LateProxy } from '../late-proxy.mjs';
import { monotonic } from '../monotonic.mjs';
import { load } from './module-options.mjs';
import { CONNECTIONS, connectTo, PostgresInstance } from './postgres-instance.mjs';

/** The connections of the library, without that of the run itself. */
const OF_LOCKS = "application_name = 'nestjs-distributed-lock'";

/**
 * The PostgreSQL server of a run, on free ports of the loopback interface. In runs with faults it has a synchronous
 * standby.
 */
export class PostgresUnderTest {
  pushes = 'notifications';
  #means;
  #directory;
  #build;
  #instances = 0;
  /** @type {PostgresInstance} */
  #primary;
  /** @type {PostgresInstance | undefined} */
  #standby;
  /** The proxy between standby and primary. @type {LateProxy | undefined} */
  #link;
  #pausedUntil = 0;
  #admin;

  constructor({ programs, libraries }, directory, build) {
    this.#directory = join(directory, 'postgres');
    const env = { ...process.env, ...(libraries && { LD_LIBRARY_PATH: libraries }) };
    this.#means = { programs, options: { ...NOBODY, cwd: this.#directory, env } };
    this.#build = build;
  }

  async start({ faults }) {
    mkdirSync(this.#directory, { mode: 0o755 });
    if (NOBODY.uid !== undefined) {
      // The user needs access to the parent folder.
      chownSync(dirname(this.#directory), NOBODY.uid, NOBODY.gid);
      chownSync(this.#directory, NOBODY.uid, NOBODY.gid);
    }
    this.#primary = await this.#newInstance();
    await this.#primary.create();
    await this.#primary.launch();
    const { postgresMigration } = await load(this.#build.entry, 'stores/postgres/index.js');
    await this.#ask(postgresMigration());
    // Some packages of PostgreSQL lack that program.
    if (faults && existsSync(join(this.#means.programs, 'pg_basebackup'))) await this.#addStandby();
  }

  /** The port of the primary. */
  get port() {
    return this.#primary.port;
  }

  get targets() {
    return [() => this.port];
  }

  get url() {
    return this.urlAt(this.port);
  }

  urlAt(port) {
    return postgresUrl(port);
  }

  /** The largest fencing token issued so far. */
  async fence() {
    const [row] = await this.#ask('SELECT last_value AS fence FROM distributed_lock.tokens');
    return Number(row.fence);
  }

  async isWritable() {
    await elapse(Math.max(0, this.#pausedUntil - monotonic()));
  }

  /** After a sweep of expired rows, which clients do from time to time. */
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

  /** Counts rows written; a count of transactions would include autovacuum. */
  async census() {
    const [{ writes }] = await this.#ask(
      `SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) AS writes
         FROM pg_stat_user_tables WHERE schemaname = 'distributed_lock'`,
    );
    const tables = await this.#ask(
      "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'distributed_lock'",
    );
    let [entries, bytes] = [0, 0];
    for (const { name } of tables) {
      const [row] = await this.#ask(
        `SELECT count(*) AS rows, pg_total_relation_size('${name}') AS bytes FROM ${name}`,
      );
      entries += Number(row.rows);
      bytes += Number(row.bytes);
    }
    return { entries, writes: Number(writes), bytes };
  }

  /** The faults of the server as `[weight, name, act]`. */
  faults({ random, note }) {
    return [
      [8, 'connections killed by the server', (name) => this.#cut(random, note, name)],
      [5, 'statements cancelled', (name) => this.#cancel(note, name)],
      [5, 'tables locked by others', (name) => this.#lockTables(random, note, name)],
      [4, 'server stopped', (name) => this.#stopForAWhile(random, note, name)],
      [3, 'connection storm', (name) => this.#storm(random, note, name)],
      [2, 'server killed and started again', (name) => this.#killAndStart(note, name)],
      [2, 'server restarted', (name) => this.#restart(note, name)],
      ...(this.#standby ? [[2, 'standby promoted', (name) => this.#failOver(random, note, name)]] : []),
    ];
  }

  async close() {
    await this.#admin?.end().catch(() => undefined);
    this.#link?.close();
    await this.#standby?.remove();
    await this.#primary?.remove();
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

  /** As a migration or a backup would. */
  async #lockTables(random, note, name) {
    const ms = random.between(20, 1_200);
    note(name, { ms });
    this.#pausedUntil = monotonic() + ms;
    const client = await this.#connectWithRetries();
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
    const resume = this.#primary.stop();
    await elapse(ms);
    resume();
  }

  /** Processes that lose a connection meanwhile get no new one. */
  async #storm(random, note, name) {
    const ms = random.between(100, 1_500);
    note(name, { ms });
    // Connects the run itself, which could not connect later.
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

  /** Kills all processes at once, as a loss of power does. */
  async #killAndStart(note, name) {
    note(name);
    await this.#primary.kill();
    await this.#primary.launch();
  }

  /** Restarts as an operator would. */
  async #restart(note, name) {
    note(name);
    await this.#primary.shutDown();
    await this.#primary.launch();
  }

  /** The primary is lost with its machine; the standby is promoted and gets a new standby. */
  async #failOver(random, note, name) {
    // A commit whose wait was cancelled counts as done without the standby.
    await this.#standbyCaughtUp();
    note(name);
    // Records that the standby has not received by then are lost.
    const behind = random.chance(0.5) ? random.between(20, 1_000) : 0;
    this.#link.holdReplies(behind);
    await elapse(random.between(0, behind));
    const lost = this.#primary;
    await lost.kill();
    this.#link.close();
    await elapse(random.between(0, 1_000));
    const promoted = this.#standby;
    const lead = () => {
      this.#primary = promoted;
      this.#standby = undefined;
    };
    // Clients may connect to it before it accepts writes.
    if (random.chance(0.5)) lead();
    await promoted.promote();
    lead();
    await lost.remove();
    await this.#addStandby();
  }

  async #newInstance() {
    const data = join(this.#directory, `data-${++this.#instances}`);
    return new PostgresInstance(this.#means, data, await freePort());
  }

  /** From then on commits wait for the standby. */
  async #addStandby() {
    const { port } = this;
    this.#link = new LateProxy(() => port);
    await this.#link.open();
    const standby = await this.#newInstance();
    await standby.copy(this.#link.port);
    await standby.launch();
    this.#standby = standby;
    // After the copy: otherwise a promoted standby would wait for a standby of its own.
    await this.#ask("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'");
    await this.#ask('SELECT pg_reload_conf()');
    await this.#standbyCaughtUp();
    // The server processes read the setting slightly later than this connection.
    await elapse(200);
  }

  /** Resolves when the standby has everything committed so far. */
  async #standbyCaughtUp() {
    const [{ lsn }] = await this.#ask('SELECT pg_current_wal_lsn() AS lsn');
    for (let attempt = 1; ; attempt++) {
      const following = await this.#ask(
        `SELECT FROM pg_stat_replication WHERE state = 'streaming' AND sync_state <> 'async' AND flush_lsn >= $1`,
        [lsn],
      );
      if (following.length > 0) return;
      if (attempt === 600) throw new Error('the standby does not follow its primary');
      await elapse(50);
    }
  }

  #connect() {
    return connectTo(this.port);
  }

  /** Retries while other clients use all connections. */
  async #connectWithRetries() {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#connect();
      } catch (error) {
        if (attempt === 100) throw error;
        await elapse(100);
      }
    }
  }

  /** Uses its own connection without a proxy, and retries when a fault has closed it. */
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
