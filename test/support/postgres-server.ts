import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chown, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import {
  initdbArguments,
  NOBODY,
  POSTGRES_READY,
  postgresArguments,
  postgresUrl,
  signalPostgres,
} from '../../.scripts/servers/postgres.mjs';
import { postgresMigration } from '../../lib/stores/postgres/index.js';
import { freePort } from './free-port.js';
import { guardAgainstOrphans } from './orphan-guard.js';
import { createServerClock, type ServerClock } from './server-clock.js';
import { endProcess, hasExited, untilReady } from './server-process.js';
import { createTlsFiles } from './tls-files.js';

/** The folder with the programs of PostgreSQL; set by `npm run test:stores`. */
export const postgresPrograms = process.env['POSTGRES_PROGRAMS'];

/** The interface of a client for tests. */
export interface TestPgClient {
  connect(): Promise<unknown>;
  query(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: readonly Record<string, unknown>[] }>;
  end(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'notification', listener: (message: { readonly payload: string }) => void): unknown;
}

const { Client } = pg as unknown as { Client: new (url: string) => TestPgClient };

/** The folder with the libraries of its programs, if not the system's. */
const libraries = process.env['POSTGRES_LIBRARIES'];
const env = { ...process.env, ...(libraries !== undefined && { LD_LIBRARY_PATH: libraries }) };

export interface PostgresServerOptions {
  /** Further settings for `-c`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Lines of `pg_hba.conf` before the one that trusts all users. */
  readonly access?: readonly string[];
  /** Enables TLS, with a certificate for loopback addresses that clients must trust: {@link PostgresServer.ca}. */
  readonly tls?: boolean;
  /** The language of its messages to clients, such as `de`, where the system supports it. */
  readonly language?: string;
  /** Makes the wall clock adjustable: {@link PostgresServer.fixClock}. Linux only. */
  readonly clock?: boolean;
}

/** A PostgreSQL server for a test: on a free loopback port, in its own folder, and without fsync. */
export class PostgresServer {
  private readonly clients = new Set<TestPgClient>();

  private constructor(
    readonly port: number,
    private readonly directory: string,
    private readonly settings: Readonly<Record<string, string>>,
    private process: ChildProcess,
    /** The authority that signed the server's certificate, PEM; undefined without TLS. */
    readonly ca: string | undefined,
    private readonly clock: ServerClock | undefined,
  ) {}

  static async start(options: PostgresServerOptions = {}): Promise<PostgresServer> {
    const directory = await mkdtemp(join(tmpdir(), 'lock-postgres-'));
    try {
      if (NOBODY.uid !== undefined) await chown(directory, NOBODY.uid, NOBODY.gid);
      const data = join(directory, 'data');
      const how = { ...NOBODY, cwd: directory, env };
      await promisify(execFile)(program('initdb'), initdbArguments(data), how);
      if (options.access) await letIn(join(data, 'pg_hba.conf'), options.access);
      const tls = options.tls === true ? await tlsFor(directory) : undefined;
      const { language } = options;
      const settings = { ...options.settings, ...tls?.settings };
      const clock = options.clock === true ? await clockFor(directory) : undefined;
      const port = await freePort();
      const inLanguage = { ...clock?.env, ...(language !== undefined && { LANGUAGE: language }) };
      const process = await launch(directory, port, settings, inLanguage);
      const server = new PostgresServer(port, directory, settings, process, tls?.ca, clock);
      if (language !== undefined) await server.speakLanguage();
      return server;
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /**
   * A standby of another server, which can be promoted.
   *
   * @param port the port of the primary, or of a proxy in front of it
   */
  static async standbyOf(port: number): Promise<PostgresServer> {
    const directory = await mkdtemp(join(tmpdir(), 'lock-postgres-'));
    try {
      if (NOBODY.uid !== undefined) await chown(directory, NOBODY.uid, NOBODY.gid);
      const primary = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres'];
      await promisify(execFile)(
        program('pg_basebackup'),
        [...primary, '-D', join(directory, 'data'), '-R', '-X', 'stream', '-c', 'fast', '--no-sync'],
        { ...NOBODY, cwd: directory, env },
      );
      const own = await freePort();
      return new PostgresServer(own, directory, {}, await launch(directory, own, {}), undefined, undefined);
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /** Starts a server with the schema of locks. */
  static async startWithSchema(options: PostgresServerOptions = {}): Promise<PostgresServer> {
    const server = await PostgresServer.start(options);
    const client = await server.client();
    await client.query(postgresMigration());
    return server;
  }

  get url(): string {
    return this.urlOf(this.port);
  }

  /** The same server at another port, such as a proxy's. */
  urlOf(port: number): string {
    return postgresUrl(port);
  }

  mainProcess(): number {
    const { pid } = this.process;
    if (pid === undefined) throw new Error('PostgreSQL has not been started');
    return pid;
  }

  /** Stops the wall clock at this time, ms, until the next call; needs `clock: true`. */
  fixClock(wall: number): void {
    if (!this.clock) throw new Error('start the server with `clock: true` to set its clock');
    this.clock.offset.fix(wall);
  }

  /** A plain client for the test; closed with the server. */
  async client(database = 'postgres'): Promise<TestPgClient> {
    const client = new Client(this.url.replace(/postgres$/, database));
    client.on('error', () => undefined);
    await client.connect();
    this.clients.add(client);
    return client;
  }

  /** SIGQUIT: like a loss of power; committed data survives. */
  async kill(): Promise<void> {
    await endProcess(this.process, 'SIGQUIT');
  }

  /** SIGKILL for all its processes, like the loss of the machine. */
  async destroy(): Promise<void> {
    if (hasExited(this.process)) return;
    const exited = once(this.process, 'exit');
    signalPostgres(this.mainProcess(), 'SIGKILL');
    await exited;
  }

  /** Promotes a standby. */
  async promote(): Promise<void> {
    const client = await this.client();
    await client.query('SELECT pg_promote()');
  }

  /** SIGINT: closes connections and shuts down. */
  async shutDown(): Promise<void> {
    await endProcess(this.process, 'SIGINT');
  }

  /** Stops all processes: connections stay open, and nothing is answered. */
  async stop(): Promise<void> {
    signalPostgres(this.mainProcess(), 'SIGSTOP');
  }

  async resume(): Promise<void> {
    signalPostgres(this.mainProcess(), 'SIGCONT');
  }

  /** Restarts on the same port, with its data. */
  async restart(): Promise<void> {
    await this.kill();
    this.process = await launch(this.directory, this.port, this.settings, this.clock?.env);
  }

  async close(): Promise<void> {
    await Promise.all([...this.clients].map((client) => client.end().catch(() => undefined)));
    await this.kill();
    this.clock?.offset.close();
    await rm(this.directory, { recursive: true, force: true });
  }

  /** LANGUAGE selects the language, in any locale but C. The server's own log stays in English. */
  private async speakLanguage(): Promise<void> {
    const client = await this.client();
    await client.query("ALTER DATABASE postgres SET lc_messages = 'C.UTF-8'");
  }
}

/** In a folder that the user `nobody` can read. */
async function clockFor(directory: string): Promise<ServerClock> {
  const { offset, env: shim } = await createServerClock(directory);
  const library = join(directory, 'clock-shim.so');
  await copyFile(String(shim['LD_PRELOAD']), library);
  return { offset, env: { ...offset.env, LD_PRELOAD: library } };
}

/** The first matching line decides. */
async function letIn(file: string, lines: readonly string[]): Promise<void> {
  await writeFile(file, `${lines.join('\n')}\n${await readFile(file, 'utf8')}`);
}

async function tlsFor(directory: string): Promise<{ ca: string; settings: Record<string, string> }> {
  const { ca } = await createTlsFiles(directory);
  const [key, certificate] = [join(directory, 'server.key'), join(directory, 'server.crt')];
  // PostgreSQL requires that it owns the key file.
  if (NOBODY.uid !== undefined) await chown(key, NOBODY.uid, NOBODY.gid);
  return { ca, settings: { ssl: 'on', ssl_cert_file: certificate, ssl_key_file: key } };
}

function program(name: string): string {
  if (postgresPrograms === undefined) throw new Error('run it with `npm run test:stores`');
  return join(postgresPrograms, name);
}

async function launch(
  directory: string,
  port: number,
  settings: Readonly<Record<string, string>>,
  clock: Readonly<Record<string, string>> = {},
): Promise<ChildProcess> {
  const args = postgresArguments(join(directory, 'data'), port, {
    fsync: 'off',
    // The default from version 14 on; the tests sign in with it.
    password_encryption: 'scram-sha-256',
    max_connections: '200',
    ...settings,
  });
  const child = spawn(program('postgres'), args, {
    ...NOBODY,
    cwd: directory,
    env: { ...env, ...clock },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  guardAgainstOrphans(child, directory);
  await untilReady('PostgreSQL', child, POSTGRES_READY);
  return child;
}
