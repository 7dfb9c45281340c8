import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import {
  initdbArguments,
  POSTGRES_READY,
  postgresArguments,
  postgresUrl,
  signalPostgres,
} from '../../../.scripts/servers/postgres.mjs';
import { whenReady } from '../../../.scripts/servers/processes.mjs';
import { spawnTied } from '../lifeline.mjs';

/** So few that a storm uses all of them. */
export const CONNECTIONS = 60;

/** A client of the run itself, without a proxy. */
export async function connectTo(port) {
  const client = new pg.Client({ connectionString: postgresUrl(port), connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** One PostgreSQL server with its data and processes. Committed data survives a restart. */
export class PostgresInstance {
  #programs;
  #options;
  #data;
  #process;

  /**
   * @param {{ programs: string, options: object }} means the folder of the programs, and the options for starting them
   * @param {string} data a folder that does not exist yet
   * @param {number} port
   */
  constructor({ programs, options }, data, port) {
    this.#programs = programs;
    this.#options = options;
    this.#data = data;
    this.port = port;
  }

  /** Creates an empty database. */
  async create() {
    await this.#run('initdb', initdbArguments(this.#data));
  }

  /** Copies the data of a primary; once launched, the server follows it over this port. */
  async copy(primaryPort) {
    const primary = ['-D', this.#data, '-h', '127.0.0.1', '-p', `${primaryPort}`, '-U', 'postgres'];
    // With a slot, the primary keeps the log for a standby that was disconnected for a while.
    const follows = ['--write-recovery-conf', '--create-slot', '--slot', 'standby'];
    await this.#run('pg_basebackup', [...primary, ...follows, '-X', 'stream', '-c', 'fast', '--no-sync']);
  }

  /** The previous process may still hold its resources, so starting is retried. */
  async launch() {
    for (let attempt = 1; !(await this.#start()); attempt++) {
      if (attempt === 100) throw new Error(`PostgreSQL did not start on port ${this.port}`);
      await elapse(50);
    }
  }

  /** Makes a standby accept writes. */
  async promote() {
    const client = await connectTo(this.port);
    await client.query('SELECT pg_promote()');
    await client.end();
  }

  /** Kills all processes at once, as a loss of power does. */
  async kill() {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    signalPostgres(this.#process.pid, 'SIGKILL');
    await exited;
  }

  /** Shuts down as an operator would. */
  async shutDown() {
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGINT');
    await exited;
  }

  /** Stops all processes; the returned function resumes them. */
  stop() {
    const { pid } = this.#process;
    signalPostgres(pid, 'SIGSTOP');
    return () => signalPostgres(pid, 'SIGCONT');
  }

  /** Kills the server and deletes its data. */
  async remove() {
    if (this.#process) await this.kill();
    await rm(this.#data, { recursive: true, force: true });
  }

  /** Runs a program that writes the data folder. */
  async #run(program, args) {
    await promisify(execFile)(join(this.#programs, program), args, this.#options);
  }

  /** @returns {Promise<boolean>} false when it exited immediately */
  async #start() {
    const args = postgresArguments(this.#data, this.port, {
      fsync: 'off',
      max_connections: CONNECTIONS,
      // How soon a standby reconnects to its primary.
      wal_retrieve_retry_interval: '100ms',
    });
    const how = { ...this.#options, stdio: ['ignore', 'ignore', 'pipe'] };
    this.#process = spawnTied(join(this.#programs, 'postgres'), args, how);
    return (await whenReady(this.#process, POSTGRES_READY)).isReady;
  }
}
