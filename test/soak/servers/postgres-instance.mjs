import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { end, spawnTied } from '../lifeline.mjs';

/** So few that a storm uses all of them. */
export const CONNECTIONS = 60;

export const urlAt = (port) => `postgres://postgres@127.0.0.1:${port}/postgres`;

/** A client of the run itself, without a proxy. */
export async function connectTo(port) {
  const client = new pg.Client({ connectionString: urlAt(port), connectionTimeoutMillis: 5_000 });
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
    await this.#run('initdb', ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']);
  }

  /** Copies the data of a primary; once launched, the server follows it over this port. */
  async copy(primaryPort) {
    const primary = ['-h', '127.0.0.1', '-p', `${primaryPort}`, '-U', 'postgres'];
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
    // Otherwise it would start new ones.
    signal(this.#process.pid, 'SIGSTOP');
    for (const pid of this.#children()) signal(pid, 'SIGKILL');
    await end(this.#process);
  }

  /** Shuts down as an operator would. */
  async shutDown() {
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGINT');
    await exited;
  }

  /** Stops all processes; the returned function resumes them. */
  stop() {
    const pids = [this.#process.pid, ...this.#children()];
    for (const pid of pids) signal(pid, 'SIGSTOP');
    return () => {
      for (const pid of pids) signal(pid, 'SIGCONT');
    };
  }

  /** Kills the server and deletes its data. */
  async remove() {
    if (this.#process) await this.kill();
    await rm(this.#data, { recursive: true, force: true });
  }

  #children() {
    const ofParent = ['-o', 'pid=', '--ppid', String(this.#process.pid)];
    return execFileSync('ps', ofParent, { encoding: 'utf8' }).split('\n').map(Number).filter(Boolean);
  }

  /** Runs a program that writes the data folder. */
  async #run(program, args) {
    await promisify(execFile)(join(this.#programs, program), ['-D', this.#data, ...args], this.#options);
  }

  /** @returns {Promise<boolean>} false when it exited immediately */
  async #start() {
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      fsync: 'off',
      max_connections: CONNECTIONS,
      // How soon a standby reconnects to its primary.
      wal_retrieve_retry_interval: '100ms',
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const server = spawnTied(
      join(this.#programs, 'postgres'),
      ['-D', this.#data, '-p', `${this.port}`, ...args],
      { ...this.#options, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.#process = server;
    const exited = once(server, 'exit').then(() => false);
    const ready = (async () => {
      for await (const text of server.stderr)
        if (/ready to accept (read[- ]only )?connections/.test(text)) return true;
      return false;
    })();
    const started = await Promise.race([exited, ready]);
    server.stderr.resume();
    return started;
  }
}

/** The process may have exited already. */
function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
