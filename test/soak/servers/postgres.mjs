import { chownSync, existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { LateProxy } from '../late-proxy.mjs';
import { monotonic } from '../monotonic.mjs';
import { freePort } from './free-port.mjs';
import { load } from './module-options.mjs';
import { CONNECTIONS, connectTo, PostgresInstance, urlAt } from './postgres-instance.mjs';

/** It does not run as root. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
/** Of the connections of the library, all but those of whoever asks. */
const OF_LOCKS = "application_name = 'nestjs-distributed-lock'";

/**
 * The PostgreSQL of a run, on free ports of the loopback interface. Where something is done to it, it has a standby for
 * which commits wait.
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
  /** The way from the standby to the primary. @type {LateProxy | undefined} */
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
      // It has to find its way there.
      chownSync(dirname(this.#directory), NOBODY.uid, NOBODY.gid);
      chownSync(this.#directory, NOBODY.uid, NOBODY.gid);
    }
    this.#primary = await this.#newInstance();
    await this.#primary.create();
    await this.#primary.launch();
    const { postgresMigration } = await load(this.#build.entry, 'stores/postgres/index.js');
    await this.#ask(postgresMigration());
    // Some packages of PostgreSQL leave that program out.
    if (faults && existsSync(join(this.#means.programs, 'pg_basebackup'))) await this.#addStandby();
  }

  /** Of the primary. */
  get port() {
    return this.#primary.port;
  }

  get url() {
    return this.urlAt(this.port);
  }

  urlAt(port) {
    return urlAt(port);
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

  /** Rows written; transactions would count those of its own vacuum, too. */
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
    const goOn = this.#primary.stop();
    await elapse(ms);
    goOn();
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
    await this.#primary.kill();
    await this.#primary.launch();
  }

  /** As an operator does it. */
  async #restart(note, name) {
    note(name);
    await this.#primary.shutDown();
    await this.#primary.launch();
  }

  /** The primary is gone with its machine; the standby takes its place, and gets one of its own. */
  async #failOver(random, note, name) {
    // A commit whose wait was cancelled counts as done without it.
    await this.#followed();
    note(name);
    // What the standby did not get by then is lost.
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
    // Clients may come to it before it takes writes.
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

  /** From then on commits wait for it. */
  async #addStandby() {
    const { port } = this;
    this.#link = new LateProxy(() => port);
    await this.#link.open();
    const standby = await this.#newInstance();
    await standby.copy(this.#link.port);
    await standby.launch();
    this.#standby = standby;
    // After the copy: a standby that is promoted has nobody to wait for.
    await this.#ask("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'");
    await this.#ask('SELECT pg_reload_conf()');
    await this.#followed();
    // The server itself reads that a moment after this connection has.
    await elapse(200);
  }

  /** Resolves when the standby has all that is committed by now. */
  async #followed() {
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
