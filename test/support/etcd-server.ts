import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { etcdArguments, FAST_ETCD, peerUrlOf } from '../../.scripts/servers/etcd.mjs';
import { Endpoint, channelCredentials } from '../../lib/stores/etcd/connection/endpoint.js';
import { methods, MessageWriter, type Method } from '../../lib/stores/etcd/connection/protocol.js';
import { freePort } from './free-port.js';
import { guardAgainstOrphans } from './orphan-guard.js';
import { PersistentServer } from './server-process.js';
import { createTlsFiles } from './tls-files.js';
import { elapse, until } from './until.js';

/** The path of etcd; set by `npm run test:stores`. */
export const etcdProgram = process.env['ETCD_SERVER'];

export interface EtcdServerOptions {
  /** Further flags, such as `--auth-token`. */
  readonly flags?: readonly string[];
  /** Requires TLS, with a certificate for loopback addresses that clients must trust: {@link EtcdServer.ca}. */
  readonly tls?: boolean;
}

/** The arguments with which a member was started. */
export interface MemberArguments {
  readonly name: string;
  readonly port: number;
  readonly peerPort: number;
  /** All members of its cluster. */
  readonly members: { readonly name: string; readonly port: number; readonly peerPort: number }[];
  readonly token: string;
  readonly flags: readonly string[];
  readonly tls: { readonly certificate: string; readonly key: string; readonly ca: string } | undefined;
}

/** Compacts the history before a revision. */
export const compaction: Method<number, undefined> = {
  path: '/etcdserverpb.KV/Compact',
  encode: (revision) => new MessageWriter().int(1, revision).finish(),
  decode: () => undefined,
};

/** An etcd server for a test: on free loopback ports, in its own folder, and without fsync. */
export class EtcdServer extends PersistentServer {
  private clients: Endpoint[] = [];
  private readonly proxies: ChildProcess[] = [];

  private constructor(
    directory: string,
    private readonly args: MemberArguments,
    child: ChildProcess,
  ) {
    super(directory, child);
  }

  /** A cluster of one member. */
  static async start({ flags = [], tls = false }: EtcdServerOptions = {}): Promise<EtcdServer> {
    const member = { name: 'alone', port: await freePort(), peerPort: await freePort() };
    const token = `lock-${process.pid}-${member.port}`;
    return await EtcdServer.startMember({ ...member, members: [member], token, flags }, tls);
  }

  static async startMember(args: Omit<MemberArguments, 'tls'>, isSecure = false): Promise<EtcdServer> {
    const directory = await mkdtemp(join(tmpdir(), 'lock-etcd-'));
    try {
      const files = isSecure ? await createTlsFiles(directory) : undefined;
      const tls = files && {
        ca: files.ca,
        certificate: join(directory, 'server.crt'),
        key: join(directory, 'server.key'),
      };
      const all = { ...args, tls };
      return new EtcdServer(directory, all, launch(directory, all, 'new'));
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }

  get port(): number {
    return this.args.port;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** The URL for other members. */
  get peerUrl(): string {
    return peerUrlOf(this.args);
  }

  /** The authority that signed the server's certificate, PEM; undefined without TLS. */
  get ca(): string | undefined {
    return this.args.tls?.ca;
  }

  /** A plain client for the test; closed with the server. */
  client(address = this.address): Endpoint {
    const { ca } = this;
    const client = new Endpoint(
      address,
      channelCredentials(ca === undefined ? undefined : { ca }),
      undefined,
      10_000,
    );
    this.clients.push(client);
    return client;
  }

  /** Starts a gRPC proxy before the server, and returns its port; closed with the server. */
  async proxy(): Promise<number> {
    const port = await freePort();
    const address = `127.0.0.1:${port}`;
    const args = ['grpc-proxy', 'start', `--endpoints=${this.address}`, `--listen-addr=${address}`];
    const proxy = spawnEtcd(args, this.directory);
    this.proxies.push(proxy);
    await this.ready(address);
    return port;
  }

  /** Resolves when it serves, which needs a majority of its cluster. */
  async ready(address = this.address): Promise<this> {
    await until(
      'etcd serves',
      async () => {
        if (this.hasEnded) throw new Error('etcd exited immediately');
        const client = this.client(address);
        try {
          await client.open(1_000);
          await client.call(methods.range, { do: 'range', key: 'x', serializable: false });
          return true;
        } catch {
          await elapse(20);
          return false;
        } finally {
          client.cut(new Error('asked'));
        }
      },
      { deadline: 60_000 },
    );
    return this;
  }

  async restart(): Promise<void> {
    await this.kill();
    this.process = launch(this.directory, this.args, 'new');
  }

  /** Restarts on the same ports, without data. */
  async restartEmpty(state: 'new' | 'existing' = 'new'): Promise<void> {
    await this.kill();
    await rm(join(this.directory, 'data'), { recursive: true, force: true });
    this.process = launch(this.directory, this.args, state);
  }

  async close(): Promise<void> {
    for (const client of this.clients) client.cut(new Error('the test is over'));
    for (const proxy of this.proxies) proxy.kill('SIGKILL');
    await this.kill();
    await rm(this.directory, { recursive: true, force: true });
  }
}

function launch(directory: string, args: MemberArguments, state: 'new' | 'existing'): ChildProcess {
  const { port, members, token, flags, tls } = args;
  const all = etcdArguments(args, join(directory, 'data'), members, {
    ...FAST_ETCD,
    'initial-cluster-token': token,
    'initial-cluster-state': state,
    ...(tls && {
      'listen-client-urls': `https://127.0.0.1:${port}`,
      'advertise-client-urls': `https://127.0.0.1:${port}`,
      'cert-file': tls.certificate,
      'key-file': tls.key,
    }),
  });
  return spawnEtcd([...all, ...flags], directory);
}

function spawnEtcd(args: readonly string[], directory: string): ChildProcess {
  if (etcdProgram === undefined) throw new Error('run it with `npm run test:stores`');
  const child = spawn(etcdProgram, args, { cwd: directory, stdio: 'ignore' });
  guardAgainstOrphans(child, directory);
  return child;
}
