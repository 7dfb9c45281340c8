import pg from 'pg';
import { postgresMigration } from '../../dist/esm/stores/postgres/index.js';
import { StoreStats } from './store-stats.mjs';

/** Reads the counters of a PostgreSQL server, over a separate connection. */
export class PostgresStats extends StoreStats {
  #client;

  /** Creates the tables that the candidates need. @param {{ url: string, pid: number }} server */
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
    super(pid);
    this.#client = client;
  }

  async empty() {
    await this.#client.query(
      'TRUNCATE floor, distributed_lock.holds, distributed_lock.waiters, distributed_lock.tombstones',
    );
    // Otherwise the next checkpoint may happen during a measurement.
    await this.#client.query('CHECKPOINT');
  }

  async reset() {
    await this.#client.query('SELECT pg_stat_statements_reset()');
    await super.reset();
  }

  async children() {
    const { rows } = await this.#client.query('SELECT pid FROM pg_stat_activity');
    return rows.map(({ pid }) => pid);
  }

  async version() {
    const { rows } = await this.#client.query("SELECT current_setting('server_version') AS version");
    return rows[0].version;
  }

  /** Statements of clients, writing transactions, and kB of WAL. */
  async look() {
    const { rows } = await this.#client.query(
      `SELECT (SELECT coalesce(sum(calls), 0) FROM pg_stat_statements
          WHERE query NOT LIKE '%pg_stat_statements%' AND query NOT LIKE '%pg_stat_activity%')::float8 AS requests,
        pg_snapshot_xmax(pg_current_snapshot())::text::float8 AS writes,
        (pg_current_wal_insert_lsn() - '0/0')::float8 / 1024 AS "walKilobytes"`,
    );
    return rows[0];
  }
}
