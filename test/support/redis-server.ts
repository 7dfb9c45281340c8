import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.js';
import { guardAgainstOrphans } from './orphan-guard.js';
import { elapse } from './until.js';

export interface RedisServerOptions {
  /** Further settings as on the command line, without the dashes: `{ maxmemory: '2mb' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

class PortTaken extends Error {}

/** A redis-server of the test's own: loopback only, on a free port, in a directory of its own, without persistence. */
export class RedisServer {
  private readonly clients = new Set<Redis>();

  private constructor(
    readonly port: number,
    private readonly directory: string,
    private readonly settings: Readonly<Record<string, string>>,
    private process: ChildProcess,
  ) {}

  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    const directory = await mkdtemp(join(tmpdir(), 'lock-redis-'));
    const settings = options.settings ?? {};
    for (let attempt = 1; ; attempt++) {
      const port = await freePort();
      try {
        return new RedisServer(port, directory, settings, await launch(port, directory, settings));
      } catch (error) {
        if (!(error instanceof PortTaken) || attempt === 20) throw error;
      }
    }
  }

  get host(): string {
    return '127.0.0.1';
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  get pid(): number {
    const { pid } = this.process;
    if (pid === undefined) throw new Error('redis-server has not been started');
    return pid;
  }

  /** A plain client for the test itself; closed together with the server. */
  client(): Redis {
    const client = new Redis({ host: this.host, port: this.port, retryStrategy: () => 20 });
    client.on('error', () => undefined);
    this.clients.add(client);
    return client;
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
    this.process.kill('SIGSTOP');
  }

  /** SIGCONT: whatever came in meanwhile is worked off. */
  resume(): void {
    this.process.kill('SIGCONT');
  }

  /** An empty server on the same port. */
  async restart(): Promise<void> {
    await this.kill();
    for (let attempt = 1; ; attempt++) {
      try {
        this.process = await launch(this.port, this.directory, this.settings);
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
    await rm(this.directory, { recursive: true, force: true });
  }
}

async function launch(
  port: number,
  directory: string,
  settings: Readonly<Record<string, string>>,
): Promise<ChildProcess> {
  const all: Record<string, string> = {
    port: String(port),
    bind: '127.0.0.1',
    dir: directory,
    save: '',
    appendonly: 'no',
    ...settings,
  };
  const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  await new Promise<void>((resolve, reject) => {
    let output = '';
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      if (output.includes('Ready to accept connections')) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', (cause) => {
      reject(new Error('redis-server could not be started: is it installed?', { cause }));
    });
    child.once('exit', () => {
      const taken = /bind|Address already in use|listening socket/i.test(output);
      reject(taken ? new PortTaken(output) : new Error(`redis-server ended at once:\n${output}`));
    });
    if (child.pid !== undefined) guardAgainstOrphans(child, directory);
  });
  return child;
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
