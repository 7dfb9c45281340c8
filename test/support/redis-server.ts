import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.js';
import { launchRedis, PortTaken, redisMajor } from './redis-process.js';
import { createServerClock, type ServerClock } from './server-clock.js';
import { endProcess, hasExited } from './server-process.js';
import { createTlsFiles, type TlsFiles } from './tls-files.js';
import { elapse } from './until.js';

const SENTINEL_FILE = 'sentinel.conf';

export type RedisSettings = Readonly<Record<string, string | readonly string[]>>;

export interface RedisServerOptions {
  /**
   * Further settings as on the command line, without the dashes: `{ maxmemory: '2mb' }`. With `cluster-enabled` the
   * server gets a free port for the cluster bus, too.
   */
  readonly settings?: RedisSettings;
  /** Starts a sentinel without a monitored primary, instead of a server with data. */
  readonly sentinel?: boolean;
  /** Requires TLS, with a certificate for loopback addresses; clients must trust {@link RedisServer.tls}. */
  readonly tls?: boolean;
  /** Makes the wall clock adjustable: {@link RedisServer.setClock}. Linux only. */
  readonly clock?: boolean;
}

/** Files in the server's folder besides its data. */
interface Outfit {
  readonly directory: string;
  readonly sentinel: boolean;
  readonly tls: TlsFiles | undefined;
  readonly clock: ServerClock | undefined;
}

/** A redis-server for a test: on a free loopback port, in its own folder, without persistence. */
export class RedisServer {
  private readonly clients = new Set<Redis>();
  private stopped = false;

  private constructor(
    readonly port: number,
    private readonly outfit: Outfit,
    private readonly settings: RedisSettings,
    private process: ChildProcess,
  ) {}

  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    const directory = await mkdtemp(join(tmpdir(), 'lock-redis-'));
    try {
      const outfit = await fitOut(directory, options);
      for (let attempt = 1; ; attempt++) {
        const port = await freePort();
        const settings = await settingsFor(port, outfit, options.settings);
        try {
          return new RedisServer(port, outfit, settings, await launch(outfit, settings));
        } catch (error) {
          if (!(error instanceof PortTaken) || attempt === 20) throw error;
        }
      }
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /** Starts this many servers, or none and throws. */
  static async startAll(count: number, options: RedisServerOptions = {}): Promise<RedisServer[]> {
    const starts = await Promise.allSettled(Array.from({ length: count }, () => RedisServer.start(options)));
    const servers = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
    const failed = starts.find((start) => start.status === 'rejected');
    if (!failed) return servers;
    await Promise.all(servers.map((server) => server.close()));
    throw failed.reason;
  }

  get host(): string {
    return '127.0.0.1';
  }

  get url(): string {
    return `${this.scheme}://${this.host}:${this.port}`;
  }

  /** The `tls` option for ioredis; undefined without TLS. */
  get tls(): { readonly ca: string } | undefined {
    return this.outfit.tls && { ca: this.outfit.tls.ca };
  }

  /** The port of the cluster bus. */
  get busPort(): number {
    if (this.settings['cluster-enabled'] !== 'yes')
      throw new Error('only servers with cluster-enabled have a cluster bus');
    return Number(this.settings['cluster-port'] ?? this.port + 10_000);
  }

  get pid(): number {
    const { pid } = this.process;
    if (pid === undefined) throw new Error('redis-server has not been started');
    return pid;
  }

  /** False after {@link kill} and between {@link stop} and {@link resume}. */
  get isAnswering(): boolean {
    return !this.stopped && !hasExited(this.process);
  }

  /** A plain client for the test; closed with the server. */
  client(): Redis {
    const password = this.settings['requirepass'] as string | undefined;
    const client = new Redis({
      host: this.host,
      port: this.port,
      retryStrategy: () => 20,
      ...(password === undefined ? {} : { password }),
      ...(this.tls && { tls: { ...this.tls } }),
    });
    client.on('error', () => undefined);
    // Disconnecting an ended client sets a timer of ioredis that is never cleared.
    client.once('end', () => this.clients.delete(client));
    this.clients.add(client);
    return client;
  }

  /**
   * Adds an ACL user with exactly these rules, `['~lock:*', '+@all']`, until the server ends; returns the URL for clients
   * with this user.
   */
  async addUser(name: string, password: string, rules: readonly string[]): Promise<string> {
    const client = this.client();
    await client.call('ACL', 'SETUSER', name, 'reset', 'resetchannels', 'on', `>${password}`, ...rules);
    this.clients.delete(client);
    client.disconnect();
    const credentials = [name, password].map(encodeURIComponent).join(':');
    return `${this.scheme}://${credentials}@${this.host}:${this.port}`;
  }

  /** Shifts the wall clock by this many ms from now on; needs `clock: true`. */
  setClock(ms: number): void {
    this.clock.offset.set(ms);
  }

  /** Stops the wall clock at this time, ms, until the next call; needs `clock: true`. */
  fixClock(wall: number): void {
    this.clock.offset.fix(wall);
  }

  /** SIGKILL: all data is lost, and connections are reset. */
  async kill(): Promise<void> {
    await endProcess(this.process);
  }

  /** SIGSTOP: connections stay open, and nothing is answered. */
  stop(): void {
    this.stopped = true;
    this.process.kill('SIGSTOP');
  }

  /** SIGCONT: pending requests are carried out. */
  resume(): void {
    this.process.kill('SIGCONT');
    this.stopped = false;
  }

  /** Starts an empty server on the same port; `settings` apply to this run, in addition to the original ones. */
  async restart(settings: RedisSettings = {}): Promise<void> {
    await this.kill();
    for (let attempt = 1; ; attempt++) {
      try {
        this.process = await launch(this.outfit, { ...this.settings, ...settings });
        this.stopped = false;
        return;
      } catch (error) {
        if (!(error instanceof PortTaken) || attempt === 50) throw error;
        await elapse(50);
      }
    }
  }

  async close(): Promise<void> {
    for (const client of this.clients) client.disconnect();
    this.clients.clear();
    await this.kill();
    this.outfit.clock?.offset.close();
    await rm(this.outfit.directory, { recursive: true, force: true });
  }

  private get clock(): ServerClock {
    if (!this.outfit.clock) throw new Error('start the server with `clock: true` to set its clock');
    return this.outfit.clock;
  }

  private get scheme(): string {
    return this.outfit.tls ? 'rediss' : 'redis';
  }
}

async function fitOut(directory: string, options: RedisServerOptions): Promise<Outfit> {
  const { sentinel = false } = options;
  // A sentinel stores its state in its configuration file, which must exist.
  if (sentinel) await writeFile(join(directory, SENTINEL_FILE), '');
  const tls = options.tls ? await createTlsFiles(directory) : undefined;
  const clock = options.clock ? await createServerClock(directory) : undefined;
  return { directory, sentinel, tls, clock };
}

async function settingsFor(
  port: number,
  { directory, sentinel, tls, clock }: Outfit,
  settings: RedisSettings = {},
): Promise<RedisSettings> {
  // Not the usual port plus 10 000, the only one before Redis 7: it may be in use, or in the range of client ports.
  const choosesBus = settings['cluster-enabled'] === 'yes' && redisMajor() >= 7;
  const bus = choosesBus ? { 'cluster-port': String(await freePort()) } : {};
  return {
    ...(tls ? { port: '0', 'tls-port': String(port), ...tls.settings } : { port: String(port) }),
    bind: '127.0.0.1',
    dir: directory,
    ...(sentinel ? {} : { save: '', appendonly: 'no' }),
    // That thread sleeps until a time of the wall clock: if the clock is behind, it uses a whole processor.
    ...(clock ? { 'jemalloc-bg-thread': 'no' } : {}),
    ...bus,
    ...settings,
  };
}

function launch({ directory, sentinel, clock }: Outfit, settings: RedisSettings): Promise<ChildProcess> {
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, ...[value].flat()]);
  if (sentinel) args.unshift(join(directory, SENTINEL_FILE), '--sentinel');
  return launchRedis({ args, directory, env: clock?.env ?? {} });
}
