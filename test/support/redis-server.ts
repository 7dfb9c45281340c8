import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.js';
import { hasExited, launchRedis, PortTaken } from './redis-process.js';
import { createServerClock, type ServerClock } from './server-clock.js';
import { createTlsFiles, type TlsFiles } from './tls-files.js';
import { elapse } from './until.js';

const SENTINEL_FILE = 'sentinel.conf';

export type RedisSettings = Readonly<Record<string, string | readonly string[]>>;

export interface RedisServerOptions {
  /**
   * Further settings as on the command line, without the dashes: `{ maxmemory: '2mb' }`. With `cluster-enabled` the
   * server gets a free port for the cluster bus too.
   */
  readonly settings?: RedisSettings;
  /** A sentinel that watches nothing yet, instead of a server with data. */
  readonly sentinel?: boolean;
  /** The port speaks TLS only, with a certificate for loopback; clients have to trust {@link RedisServer.tls}. */
  readonly tls?: boolean;
  /** The wall clock can be made to jump: {@link RedisServer.setClock}. Linux only. */
  readonly clock?: boolean;
}

/** What a server keeps in its directory beside its data. */
interface Outfit {
  readonly directory: string;
  readonly sentinel: boolean;
  readonly tls: TlsFiles | undefined;
  readonly clock: ServerClock | undefined;
}

/** A redis-server of the test's own: loopback only, on a free port, in a directory of its own, without persistence. */
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

  /** So many of them, or none and an error. */
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

  /** What ioredis needs as `tls`; undefined without TLS. */
  get tls(): { readonly ca: string } | undefined {
    return this.outfit.tls && { ca: this.outfit.tls.ca };
  }

  /** Where the nodes of a cluster talk to this one. */
  get busPort(): number {
    const port = this.settings['cluster-port'];
    if (port === undefined) throw new Error('only servers with cluster-enabled have a cluster bus');
    return Number(port);
  }

  get pid(): number {
    const { pid } = this.process;
    if (pid === undefined) throw new Error('redis-server has not been started');
    return pid;
  }

  /** False after {@link kill} and between {@link stop} and {@link resume}: whoever asks then gets no answer. */
  get isAnswering(): boolean {
    return !this.stopped && !hasExited(this.process);
  }

  /** A plain client for the test itself; closed together with the server. */
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
    // To disconnect what has ended sets a timer of ioredis, which nothing clears.
    client.once('end', () => this.clients.delete(client));
    this.clients.add(client);
    return client;
  }

  /**
   * An ACL user with these rules, `['~lock:*', '+@all']`, and no others, until the server ends; the URL for clients that
   * are to be this user.
   */
  async addUser(name: string, password: string, rules: readonly string[]): Promise<string> {
    const client = this.client();
    await client.call('ACL', 'SETUSER', name, 'reset', 'on', `>${password}`, ...rules);
    this.clients.delete(client);
    client.disconnect();
    const credentials = [name, password].map(encodeURIComponent).join(':');
    return `${this.scheme}://${credentials}@${this.host}:${this.port}`;
  }

  /** Milliseconds by which the server's wall clock is off from now on, whatever it does; needs `clock: true`. */
  setClock(ms: number): void {
    this.clock.offset.set(ms);
  }

  /** Its wall clock stands still at this time, ms, until it is told another one; needs `clock: true`. */
  fixClock(wall: number): void {
    this.clock.offset.fix(wall);
  }

  /** SIGKILL: all data is gone, connections are reset. */
  async kill(): Promise<void> {
    if (hasExited(this.process)) return;
    const exited = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await exited;
  }

  /** SIGSTOP: connections stay open, nothing is answered. */
  stop(): void {
    this.stopped = true;
    this.process.kill('SIGSTOP');
  }

  /** SIGCONT: whatever came in meanwhile is worked off. */
  resume(): void {
    this.process.kill('SIGCONT');
    this.stopped = false;
  }

  /** An empty server on the same port; `settings` are for this run, beside those from the start. */
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
  // A sentinel keeps what it knows in its configuration file, and wants to find one.
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
  // Not the usual port plus 10 000: that one may be taken, or be somebody's client port.
  const bus = settings['cluster-enabled'] === 'yes' ? { 'cluster-port': String(await freePort()) } : {};
  return {
    ...(tls ? { port: '0', 'tls-port': String(port), ...tls.settings } : { port: String(port) }),
    bind: '127.0.0.1',
    dir: directory,
    ...(sentinel ? {} : { save: '', appendonly: 'no' }),
    // That thread sleeps until a time of the wall clock: when this one is behind, it takes a processor for itself.
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
