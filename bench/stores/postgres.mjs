import { spawn } from 'node:child_process';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../../.scripts/servers/free-port.mjs';
import {
  createDatabase,
  POSTGRES_READY,
  postgresArguments,
  postgresUrl,
} from '../../.scripts/servers/postgres.mjs';
import { guardAgainstOrphans, whenReady } from '../../.scripts/servers/processes.mjs';
import { postgresMigration } from '../../dist/esm/postgres.js';
import { privateFolder, stopper } from '../harness/private-folder.mjs';
import { StoreStats } from './store-stats.mjs';

export const title = 'PostgreSQL';
export const candidates = ['postgres-floor', 'postgres-ours', 'postgres-advisory'];
/** M1 against the floor, M4 against the best peer. */
export const goals = { free: 0.8, fourProcesses: 5 };
export const costs = [
  ['requests/hold', 'requests'],
  ['writes/hold', 'writes'],
  ['WAL kB/hold', 'walKilobytes'],
];

const SETTINGS = {
  max_connections: '300',
  // Counts the statements.
  shared_preload_libraries: 'pg_stat_statements',
};

/** Starts a server with default settings otherwise: a commit is on disk before the reply. */
export async function openServer(installed) {
  const folder = privateFolder();
  const { data, how } = createDatabase(installed, folder);
  const port = await freePort();
  const server = spawn(join(installed.programs, 'postgres'), postgresArguments(data, port, SETTINGS), {
    ...how,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  guardAgainstOrphans(server, folder);
  const { isReady, output } = await whenReady(server, POSTGRES_READY);
  if (!isReady) throw new Error(`PostgreSQL ended immediately:\n${output}`);
  const url = postgresUrl(port);
  return { url, stats: await PostgresStats.open(url, server.pid), stop: stopper(server, folder, 'SIGQUIT') };
}

/** Reads the counters of a PostgreSQL server, over a separate connection. */
class PostgresStats extends StoreStats {
  #client;

  /** Creates the tables that the candidates need. */
  static async open(url, pid) {
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

  /** @returns {Promise<import('./store-stats.mjs').StoreSize>} */
  async size() {
    const tables = ['holds', 'waiters', 'tombstones'].map((table) => `distributed_lock.${table}`);
    // Statements with VACUUM can't share a request.
    for (const table of tables) await this.#client.query(`VACUUM ${table}`);
    const rowsOf = (table) => `(SELECT count(*) FROM ${table})`;
    const bytesOf = (table) => `pg_total_relation_size('${table}')`;
    const { rows } = await this.#client.query(
      `SELECT (${tables.map(rowsOf).join(' + ')})::float8 AS entries, (${tables.map(bytesOf).join(' + ')})::float8 AS bytes,
        (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'nestjs-distributed-lock')::float8 AS connections`,
    );
    return rows[0];
  }

  /** Statements of clients, writing transactions, and kB of WAL. */
  async look() {
    const { rows } = await this.#client.query(
      `SELECT (SELECT coalesce(sum(calls), 0) FROM pg_stat_statements
          WHERE query NOT LIKE '%pg_stat_statements%' AND query NOT LIKE '%pg_stat_activity%'
            AND query NOT LIKE 'VACUUM%')::float8 AS requests,
        pg_snapshot_xmax(pg_current_snapshot())::text::float8 AS writes,
        (pg_current_wal_insert_lsn() - '0/0')::float8 / 1024 AS "walKilobytes"`,
    );
    return rows[0];
  }
}
