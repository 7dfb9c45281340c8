import type { Redis } from 'ioredis';
import { RedisServer, type RedisSettings } from './redis-server.js';
import { cutReplication, fieldsOf } from './replication.js';
import { TcpProxy } from './tcp-proxy.js';
import { until } from './until.js';

/**
 * A primary and its replica behind one address, as managed services offer them: a failover leads new connections to the
 * new primary, while old ones live on at the former one, which is its replica from then on.
 */
export class OneAddress {
  private constructor(
    private primaryServer: RedisServer,
    private replicaServer: RedisServer,
    readonly proxy: TcpProxy,
    private readonly controls: ReadonlyMap<RedisServer, Redis>,
  ) {}

  static async start(settings: RedisSettings = {}): Promise<OneAddress> {
    const [primary, replica] = (await RedisServer.startAll(2, {
      settings: { 'repl-diskless-sync': 'yes', 'repl-diskless-sync-delay': '0', ...settings },
    })) as [RedisServer, RedisServer];
    const controls = new Map([primary, replica].map((server) => [server, server.client()]));
    const proxy = await TcpProxy.before(primary.port);
    const group = new OneAddress(primary, replica, proxy, controls);
    await controls.get(replica)?.replicaof(primary.host, primary.port);
    await group.inSync();
    return group;
  }

  get url(): string {
    return this.proxy.url;
  }

  get primary(): RedisServer {
    return this.primaryServer;
  }

  get replica(): RedisServer {
    return this.replicaServer;
  }

  /** A client of the test at that server. */
  control(server: RedisServer): Redis {
    const control = this.controls.get(server);
    if (control === undefined) throw new Error('no server of this group');
    return control;
  }

  /** A planned failover, which loses no write. */
  async failover(): Promise<void> {
    const [former, next] = [this.primaryServer, this.replicaServer];
    await this.inSync();
    await this.control(former).call('FAILOVER', 'TO', next.host, String(next.port));
    await until('the replica is promoted', async () => (await this.replication(next))['role'] === 'master');
    this.proxy.leadNew(next.port);
    [this.primaryServer, this.replicaServer] = [next, former];
    await this.inSync();
  }

  /** An unplanned failover, which loses what the primary does meanwhile. */
  async failoverWithout(act: () => Promise<unknown>): Promise<void> {
    const [former, next] = [this.primaryServer, this.replicaServer];
    await cutReplication(this.control(former), former, [next]);
    try {
      await act();
      former.stop();
    } finally {
      next.resume();
    }
    await this.control(next).replicaof('NO', 'ONE');
    this.proxy.lead(next.port);
    former.resume();
    await this.control(former).replicaof(next.host, next.port);
    [this.primaryServer, this.replicaServer] = [next, former];
    await this.inSync();
  }

  /** Resolves when the replica has all writes so far. */
  async replicated(): Promise<void> {
    await until('the replica has all writes', async () => {
      const [primary, replica] = await Promise.all([
        this.replication(this.primaryServer),
        this.replication(this.replicaServer),
      ]);
      return primary['master_repl_offset'] === replica['master_repl_offset'];
    });
  }

  /** The keys at the primary. */
  keys(): Promise<string[]> {
    return this.control(this.primaryServer).keys('*');
  }

  async close(): Promise<void> {
    await this.proxy.close();
    await Promise.all([this.primaryServer.close(), this.replicaServer.close()]);
  }

  private async inSync(): Promise<void> {
    await until(
      'the replica is in sync',
      async () => (await this.replication(this.replicaServer))['master_link_status'] === 'up',
    );
  }

  private async replication(server: RedisServer): Promise<Readonly<Record<string, string>>> {
    return fieldsOf(await this.control(server).info('replication'));
  }
}
