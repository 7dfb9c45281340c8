import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { guardAgainstOrphans } from './orphan-guard.js';
import { createServerClock, type ServerClock } from './server-clock.js';
import { PersistentServer } from './server-process.js';
import { until } from './until.js';

/** The folder with the libraries of ZooKeeper's server; set by `npm run test:stores`. */
export const zooKeeperLibraries = process.env['ZOOKEEPER_LIBRARIES'];

export interface ZooKeeperServerOptions {
  /** Further lines of the configuration. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Further options for Java. */
  readonly java?: readonly string[];
  /** Makes the wall clock adjustable: {@link ZooKeeperServer.fixClock}. Linux only. Sessions use another clock. */
  readonly clock?: boolean;
}

/** The ensemble of a server. */
export interface Membership {
  readonly id: number;
  /** `host:port:port`, by id. */
  readonly members: ReadonlyMap<number, string>;
  /** The port for clients. */
  readonly port: number;
}

/** A ZooKeeper server for a test: on a free loopback port, in its own folder, and without fsync. */
export class ZooKeeperServer extends PersistentServer {
  private constructor(
    readonly port: number,
    directory: string,
    private readonly options: ZooKeeperServerOptions,
    private readonly membership: Membership | undefined,
    private readonly clock: ServerClock | undefined,
    child: ChildProcess,
  ) {
    super(directory, child);
  }

  static async start(
    options: ZooKeeperServerOptions = {},
    membership?: Membership,
  ): Promise<ZooKeeperServer> {
    const directory = await mkdtemp(join(tmpdir(), 'lock-zookeeper-'));
    const port = membership?.port ?? (await freePort());
    await configure(directory, port, options, membership);
    const clock = options.clock === true ? await createServerClock(directory) : undefined;
    const child = launch(directory, options, clock);
    const server = new ZooKeeperServer(port, directory, options, membership, clock, child);
    if (membership === undefined) await server.ready();
    return server;
  }

  get address(): string {
    return `127.0.0.1:${String(this.port)}`;
  }

  /** Stops the wall clock at this time, ms, until the next call; needs `clock: true`. */
  fixClock(wall: number): void {
    if (!this.clock) throw new Error('start the server with `clock: true` to set its clock');
    this.clock.offset.fix(wall);
  }

  /** Resolves when it serves clients. */
  async ready(): Promise<void> {
    await until(
      'ZooKeeper serves',
      async () => {
        if (this.hasEnded) throw new Error('ZooKeeper exited immediately');
        return (await this.mode()) !== undefined;
      },
      { deadline: 60_000 },
    );
  }

  /** `standalone`, `leader` or `follower`; undefined while it does not serve. */
  async mode(): Promise<string | undefined> {
    const answer = await ask(this.port, 'srvr').catch(() => '');
    return /^Mode: (\w+)/m.exec(answer)?.[1];
  }

  /** The id of the last transaction. */
  async zxid(): Promise<number> {
    const answer = await ask(this.port, 'srvr');
    return Number(/^Zxid: (0x[\da-f]+)/m.exec(answer)?.[1]);
  }

  /**
   * Restarts on the same port, with its data.
   *
   * @param isEmpty without its data
   */
  async restart(isEmpty = false): Promise<void> {
    await this.kill();
    if (isEmpty) {
      await rm(join(this.directory, 'data'), { recursive: true, force: true });
      await configure(this.directory, this.port, this.options, this.membership);
    }
    this.process = launch(this.directory, this.options, this.clock);
    if (this.membership === undefined) await this.ready();
  }

  async close(): Promise<void> {
    await this.kill();
    this.clock?.offset.close();
    await rm(this.directory, { recursive: true, force: true });
  }
}

async function configure(
  directory: string,
  port: number,
  { settings = {} }: ZooKeeperServerOptions,
  membership: Membership | undefined,
): Promise<void> {
  const data = join(directory, 'data');
  await mkdir(data, { recursive: true });
  const all = {
    dataDir: data,
    clientPort: String(port),
    clientPortAddress: '127.0.0.1',
    tickTime: '200',
    initLimit: '20',
    syncLimit: '10',
    maxSessionTimeout: '2000000',
    maxClientCnxns: '0',
    'admin.enableServer': 'false',
    '4lw.commands.whitelist': '*',
    ...settings,
  };
  const members = [...(membership?.members ?? [])].map(([id, address]) => `server.${String(id)}=${address}`);
  const lines = [...Object.entries(all).map(([name, value]) => `${name}=${value}`), ...members];
  await writeFile(join(directory, 'zoo.cfg'), `${lines.join('\n')}\n`);
  if (membership !== undefined) await writeFile(join(data, 'myid'), String(membership.id));
}

function launch(
  directory: string,
  { java = [] }: ZooKeeperServerOptions,
  clock: ServerClock | undefined,
): ChildProcess {
  if (zooKeeperLibraries === undefined) throw new Error('run it with `npm run test:stores`');
  // Without periodic threads: tests check whether the process is idle.
  const memory = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData'];
  const careless = ['-Dzookeeper.forceSync=no', '-Dzookeeper.extendedTypesEnabled=true'];
  const child = spawn(
    'java',
    [
      ...memory,
      ...careless,
      ...java,
      '-cp',
      join(zooKeeperLibraries, '*'),
      'org.apache.zookeeper.server.quorum.QuorumPeerMain',
      join(directory, 'zoo.cfg'),
    ],
    { cwd: directory, stdio: 'ignore', env: { ...process.env, ...clock?.env } },
  );
  child.on('error', () => undefined);
  guardAgainstOrphans(child, directory);
  return child;
}

/** Sends one of the four-letter commands. */
function ask(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(command));
    socket.setTimeout(1_000, () => socket.destroy());
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    socket.on('error', reject);
    socket.on('close', () => {
      resolve(answer);
    });
  });
}
