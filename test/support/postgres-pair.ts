import { PostgresServer } from './postgres-server.js';
import { TcpProxy } from './tcp-proxy.js';
import { until } from './until.js';

/** A primary, a standby that follows it through a proxy, and a stable address for applications. */
export class PostgresPair {
  private constructor(
    private readonly isSynchronous: boolean,
    private servers: readonly [primary: PostgresServer, standby: PostgresServer],
    /** The proxy from the standby to the primary. */
    private way: TcpProxy,
    /** The proxy that leads to the current primary. */
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

  /** The proxy between primary and standby. */
  get link(): TcpProxy {
    return this.way;
  }

  /** The port of the stable address. */
  get port(): number {
    return this.address.port;
  }

  get url(): string {
    return this.primary.urlOf(this.port);
  }

  /**
   * The primary is lost with its machine; the standby is promoted and gets the stable address.
   *
   * @param lose the fault of the primary
   */
  async failOver(lose = (primary: PostgresServer): Promise<unknown> => primary.destroy()): Promise<void> {
    const [primary, standby] = this.servers;
    await lose(primary);
    await standby.promote();
    const client = await standby.client();
    // The copied setting would make it wait for a standby that does not exist.
    await client.query('ALTER SYSTEM RESET synchronous_standby_names');
    await client.query('SELECT pg_reload_conf()');
    await client.end();
    this.address.lead(standby.port);
  }

  /** After a failover: gives the new primary an empty standby. */
  async restore(): Promise<void> {
    const [gone, primary] = this.servers;
    await this.way.close();
    await gone.destroy();
    await gone.close();
    await this.renewStandbyOf(primary);
  }

  /** Replaces the data of the standby by a new copy of the primary's. */
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

/** Starts a standby; if it is to be synchronous, commits wait for it from now on. */
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
