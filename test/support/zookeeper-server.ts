import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { askZooKeeper, modeOf, SMALL_JAVA, zooKeeperArguments } from '../../.scripts/servers/zookeeper.mjs';
import { freePort } from './free-port.js';
import { guardAgainstOrphans } from './orphan-guard.js';
import { createServerClock, type ServerClock } from './server-clock.js';
import { PersistentServer } from './server-process.js';
import { until } from './until.js';

const SERVES_ALL = { maxClientCnxns: 0, '4lw.commands.whitelist': '*' };

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

/** A server of an ensemble, and all of them. */
export interface Membership {
  readonly id: number;
  /** The port for clients. */
  readonly port: number;
  /** `peers`: `host:port:port` for the others. */
  readonly members: { readonly id: number; readonly port: number; readonly peers: string }[];
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
    const clock = options.clock === true ? await createServerClock(directory) : undefined;
    const child = launch(directory, port, options, membership, clock);
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
    return await modeOf(this);
  }

  /** The id of the last transaction. */
  async zxid(): Promise<number> {
    const answer = await askZooKeeper(this);
    return Number(/^Zxid: (0x[\da-f]+)/m.exec(answer)?.[1]);
  }

  /**
   * Restarts on the same port, with its data.
   *
   * @param isEmpty without its data
   */
  async restart(isEmpty = false): Promise<void> {
    await this.kill();
    if (isEmpty) await rm(join(this.directory, 'data'), { recursive: true, force: true });
    this.process = launch(this.directory, this.port, this.options, this.membership, this.clock);
    if (this.membership === undefined) await this.ready();
  }

  async close(): Promise<void> {
    await this.kill();
    this.clock?.offset.close();
    await rm(this.directory, { recursive: true, force: true });
  }
}

function launch(
  folder: string,
  port: number,
  { settings = {}, java = [] }: ZooKeeperServerOptions,
  membership: Membership | undefined,
  clock: ServerClock | undefined,
): ChildProcess {
  if (zooKeeperLibraries === undefined) throw new Error('run it with `npm run test:stores`');
  // Without periodic threads: tests check whether the process is idle.
  const memory = ['-Xmx256m', '-XX:-UsePerfData', ...SMALL_JAVA];
  const careless = ['-Dzookeeper.forceSync=no', '-Dzookeeper.extendedTypesEnabled=true'];
  const all = {
    tickTime: 200,
    initLimit: 20,
    syncLimit: 10,
    maxSessionTimeout: 2_000_000,
    ...SERVES_ALL,
    ...settings,
  };
  const server = { libraries: zooKeeperLibraries, folder, port, settings: all, ...membership };
  const args = zooKeeperArguments({ ...server, java: [...memory, ...careless, ...java] });
  const env = { ...process.env, ...clock?.env };
  const child = spawn('java', args, { cwd: folder, stdio: 'ignore', env });
  child.on('error', () => undefined);
  guardAgainstOrphans(child, folder);
  return child;
}
