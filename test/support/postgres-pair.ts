import { PostgresServer } from './postgres-server.js';
import { TcpProxy } from './tcp-proxy.js';
import { until } from './until.js';

/** A primary, a standby that follows it by a network of its own, and the address that applications know. */
export class PostgresPair {
  private constructor(
    private readonly isSynchronous: boolean,
    private servers: readonly [primary: PostgresServer, standby: PostgresServer],
    /** From the standby to the primary. */
    private way: TcpProxy,
    /** Leads to whichever is the primary. */
    private readonly address: TcpProxy,
  ) {}

  /** @param isSynchronous whether commits wait for the standby */
  static async start(isSynchronous = true): Promise<PostgresPair> {
    const primary = await PostgresServer.startWithSchema();
    const [standby, way] = await follow(primary, isSynchronous);
    return new PostgresPair(isSynchronous, [primary, standby], way, await TcpProxy.before(primary.port));
  }

  get primary(): PostgresServer {
    return this.servers[0];
  }

  /** Between the two. */
  get link(): TcpProxy {
    return this.way;
  }

  /** Of the address that applications know. */
  get port(): number {
    return this.address.port;
  }

  get url(): string {
    return this.primary.urlOf(this.port);
  }

  /**
   * The primary is gone with its machine, and the standby takes its place and its address.
   *
   * @param lose what happens to the primary
   */
  async failOver(lose = (primary: PostgresServer): Promise<unknown> => primary.destroy()): Promise<void> {
    const [primary, standby] = this.servers;
    await lose(primary);
    await standby.promote();
    const client = await standby.client();
    // It may have been made from one that waited for a standby: it would wait for one that is not there.
    await client.query('ALTER SYSTEM RESET synchronous_standby_names');
    await client.query('SELECT pg_reload_conf()');
    await client.end();
    this.address.lead(standby.port);
  }

  /** After a failover: whoever was the standby gets an empty one that follows it. */
  async restore(): Promise<void> {
    const [gone, primary] = this.servers;
    await this.way.close();
    await gone.destroy();
    await gone.close();
    await this.renewStandbyOf(primary);
  }

  /** The standby loses its data, and gets those of the primary anew. */
  async emptyStandby(): Promise<void> {
    const [primary, standby] = this.servers;
    await this.way.close();
    await standby.close();
    await this.renewStandbyOf(primary);
  }

  async close(): Promise<void> {
    await this.address.close();
    await this.way.close();
    await Promise.all(this.servers.map((server) => server.close()));
  }

  private async renewStandbyOf(primary: PostgresServer): Promise<void> {
    const [standby, way] = await follow(primary, this.isSynchronous);
    this.servers = [primary, standby];
    this.way = way;
  }
}

/** A standby, without which nothing is committed from now on if it is to be synchronous. */
async function follow(
  primary: PostgresServer,
  isSynchronous: boolean,
): Promise<[standby: PostgresServer, way: TcpProxy]> {
  const way = await TcpProxy.before(primary.port);
  const standby = await PostgresServer.standbyOf(way.port);
  const client = await primary.client();
  if (isSynchronous) {
    await client.query("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'");
    await client.query('SELECT pg_reload_conf()');
  }
  await until(
    'it follows',
    async () => {
      const { rows } = await client.query('SELECT state, sync_state FROM pg_stat_replication');
      const [one] = rows;
      return one?.['state'] === 'streaming' && (one['sync_state'] === 'async') !== isSynchronous;
    },
    { deadline: 60_000 },
  );
  await client.end();
  return [standby, way];
}
