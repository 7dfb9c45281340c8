import { readFileSync } from 'node:fs';
import pg from 'pg';
import { postgresMigration } from '../../dist/esm/stores/postgres/index.js';

/** What a second of processor time is in /proc. */
const TICKS = 100;

/** Counts what a server does, over a connection of its own. */
export class PostgresStats {
  #client;
  #pid;
  #before;

  /** @param {{ url: string, pid: number }} server gets the tables that are needed */
  static async open({ url, pid }) {
    const client = new pg.Client({ connectionString: url, application_name: 'stats' });
    await client.connect();
    await client.query(postgresMigration());
    await client.query(
      'CREATE TABLE floor (key text PRIMARY KEY, owner text NOT NULL, ends timestamptz NOT NULL)',
    );
    await client.query('CREATE EXTENSION pg_stat_statements');
    return new PostgresStats(client, pid);
  }

  constructor(client, pid) {
    this.#client = client;
    this.#pid = pid;
  }

  async empty() {
    await this.#client.query(
      'TRUNCATE floor, distributed_lock.holds, distributed_lock.waiters, distributed_lock.tombstones',
    );
    // Else it comes while the next one is measured.
    await this.#client.query('CHECKPOINT');
  }

  async reset() {
    await this.#client.query('SELECT pg_stat_statements_reset()');
    this.#before = await this.#look();
  }

  /** Since the last reset: statements that clients sent, transactions that wrote, and kB of the log of writes. */
  async counts() {
    const now = await this.#look();
    return {
      requests: now.requests - this.#before.requests,
      writes: now.writes - this.#before.writes,
      walKilobytes: (now.wal - this.#before.wal) / 1_024,
    };
  }

  /** @returns {Promise<number>} ms of processor time that its processes have used so far */
  async processorMs() {
    const { rows } = await this.#client.query('SELECT pid FROM pg_stat_activity');
    return [this.#pid, ...rows.map(({ pid }) => pid)].map(processorMsOf).reduce((sum, ms) => sum + ms, 0);
  }

  async version() {
    const { rows } = await this.#client.query("SELECT current_setting('server_version') AS version");
    return rows[0].version;
  }

  async #look() {
    const { rows } = await this.#client.query(
      `SELECT (SELECT coalesce(sum(calls), 0) FROM pg_stat_statements
          WHERE query NOT LIKE '%pg_stat_statements%' AND query NOT LIKE '%pg_stat_activity%')::float8 AS requests,
        pg_snapshot_xmax(pg_current_snapshot())::text::float8 AS writes,
        (pg_current_wal_insert_lsn() - '0/0')::float8 AS wal`,
    );
    return rows[0];
  }
}

/** Of a process that has ended 0: what it used is known to the one that started it. */
function processorMsOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    // Its own, and of children that have ended: user and system.
    return (fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) * 1_000) / TICKS;
  } catch {
    return 0;
  }
}
