import { Redis } from 'ioredis';
import { RedisServer, type RedisSettings } from './redis-server.js';
import { ControlClients, cutReplication } from './replication.js';
import { until } from './until.js';

export interface SentinelGroupOptions {
  /** Settings of the primary and its replicas, see {@link RedisServer.start}. */
  readonly settings?: RedisSettings;
  /** How long a server may be silent before a sentinel considers it down, ms. Default 500. */
  readonly downAfter?: number;
  /** Makes the wall clocks of the primary and its replicas adjustable, see {@link RedisServer.start}. */
  readonly clock?: boolean;
  /** The password of the servers, but not of the sentinels. Default none. */
  readonly password?: string;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

const NAME = 'main';
const REPLICAS = 2;
const SENTINELS = 3;
/** How many of them must agree that the primary is down. */
const AGREEING = 2;

/**
 * Shorter than the built-in periods, which only Redis 7 and newer can change. The ping period must be shorter than
 * `down-after-milliseconds`: a new primary is pinged only after that period, and would be considered down and replaced
 * immediately on a busy machine. Five of them must be longer than 1 s, the possible age of the replicas' reports when the
 * primary is down: a sentinel promotes no replica with older reports.
 */
const PERIODS = {
  'ping-period': 300,
  'info-period': 500,
  'publish-period': 200,
  'ask-period': 200,
  'tilt-period': 1_000,
};

/** Milliseconds. */
const WATCH = { 'failover-timeout': 2_000, 'parallel-syncs': 2 };

/** One primary, two replicas and three sentinels, with asynchronous replication and failover as in production. */
export class SentinelGroup {
  /** The sentinels' name for the primary. */
  readonly name = NAME;
  private readonly control = new ControlClients();
  private readonly clients = new Set<Redis>();
  private paused: readonly RedisServer[] = [];

  private constructor(
    /** The first primary and its replicas, whatever their current roles. */
    readonly servers: readonly RedisServer[],
    readonly sentinelServers: readonly RedisServer[],
    private readonly downAfter: number,
    private readonly password: string | undefined,
  ) {}

  /** Resolves when the replicas are in sync, and every sentinel knows them and the other sentinels. */
  static async start(options: SentinelGroupOptions = {}): Promise<SentinelGroup> {
    const { password, downAfter = 500, clock = false } = options;
    const settings: RedisSettings = {
      'repl-diskless-sync': 'yes',
      'repl-diskless-sync-delay': '0',
      ...(password === undefined ? {} : { requirepass: password, masterauth: password }),
      ...options.settings,
    };
    const [servers, sentinels] = await Promise.all([
      RedisServer.startAll(1 + REPLICAS, { settings, clock }),
      RedisServer.startAll(SENTINELS, { sentinel: true }),
    ]);
    const group = new SentinelGroup(servers, sentinels, downAfter, password);
    try {
      await group.form();
    } catch (error) {
      await group.close();
      throw error;
    }
    return group;
  }

  /** The addresses of the sentinels. */
  get sentinels(): readonly Address[] {
    return this.sentinelServers.map(({ host, port }) => ({ host, port }));
  }

  /** The server to which sentinels send clients; after a crash, the dead one until another is promoted. */
  async primary(): Promise<RedisServer> {
    return until('a sentinel reports the primary', async () => {
      const told = await Promise.all(this.sentinelServers.map((sentinel) => this.toldBy(sentinel)));
      return told.find((server) => server !== undefined);
    });
  }

  /** The other servers, including dead ones. */
  async replicas(): Promise<readonly RedisServer[]> {
    const primary = await this.primary();
    return this.servers.filter((server) => server !== primary);
  }

  /** A client for the test that finds the primary through the sentinels; closed with the group. */
  client(): Redis {
    const client = new Redis({
      sentinels: [...this.sentinels],
      name: this.name,
      retryStrategy: () => 20,
      sentinelRetryStrategy: () => 20,
      ...(this.password === undefined ? {} : { password: this.password }),
    });
    client.on('error', () => undefined);
    this.clients.add(client);
    return client;
  }

  /** Makes the sentinels promote a replica while the primary lives; returns the new primary. */
  async failover(): Promise<RedisServer> {
    await this.settled();
    const former = await this.primary();
    // Rejected during another failover, or while no replica is known to be in a good state.
    await until('a sentinel begins the failover', () =>
      this.control
        .of(this.answeringSentinel())
        .call('SENTINEL', 'FAILOVER', NAME)
        .then(
          () => true,
          () => false,
        ),
    );
    return this.promotedAfter(former);
  }

  /** SIGKILL; returns the killed server. {@link promotedAfter} waits for its successor. */
  async killPrimary(): Promise<RedisServer> {
    await this.settled();
    const primary = await this.primary();
    await primary.kill();
    return primary;
  }

  /**
   * SIGSTOP; returns the stopped server. When it is resumed after a promotion, it considers itself a primary until a
   * sentinel makes it a replica after about 1 s.
   */
  async stopPrimary(): Promise<RedisServer> {
    await this.settled();
    const primary = await this.primary();
    primary.stop();
    return primary;
  }

  /** The server that all live sentinels report, that has the role of a primary, and that is not `former`. */
  async promotedAfter(former: RedisServer): Promise<RedisServer> {
    return until(
      'another server is primary',
      async () => {
        const asked = this.sentinelServers.filter((sentinel) => sentinel.isAnswering);
        const [first, ...others] = await Promise.all(asked.map((sentinel) => this.toldBy(sentinel)));
        if (first === undefined || first === former || others.some((other) => other !== first)) return false;
        return (await this.control.info(first, 'replication'))['role'] === 'master' && first;
      },
      { deadline: 60_000 },
    );
  }

  /**
   * Waits until no failover is under way, and every sentinel sees all live servers as healthy. {@link promotedAfter} is
   * earlier: the sentinel that leads a failover already reports the new primary while it reconfigures the other replica. If
   * the new primary dies meanwhile, that sentinel finishes nothing and keeps reporting it.
   */
  async settled(): Promise<void> {
    await until(
      'the sentinels are done with all failovers',
      async () => {
        const asked = this.sentinelServers.filter((sentinel) => sentinel.isAnswering);
        const [first, ...others] = await Promise.all(asked.map((each) => this.primaryWellFor(each)));
        return first !== undefined && others.every((other) => other === first);
      },
      { deadline: 30_000, every: 20 },
    );
  }

  /**
   * Waits until both replicas have all data of the primary. A replica that reports itself in sync receives nothing until
   * the primary has noticed that, which takes up to a second.
   */
  async replicated(): Promise<void> {
    const control = this.control.of(await this.primary());
    // WAIT covers only writes of its own connection, and thereby all earlier writes.
    await control.set('probe:@:fence', '1', 'PX', 1_000);
    await until(
      'both replicas have everything',
      async () => (await control.wait(REPLICAS, 200)) === REPLICAS,
    );
  }

  /** SIGSTOP to the replicas. They later find the primary's writes in their sockets. */
  async pauseReplicas(): Promise<void> {
    this.paused = await this.replicas();
    for (const replica of this.paused) replica.stop();
  }

  /**
   * Stops the replicas, so that they miss later writes. To lose the writes for good: kill the primary, then resume the
   * replicas immediately (sentinels do not promote servers that they consider down).
   */
  async cutReplication(): Promise<void> {
    await this.settled();
    const primary = await this.primary();
    this.paused = await this.replicas();
    await cutReplication(this.control.of(primary), primary, this.paused);
  }

  resumeReplicas(): void {
    for (const replica of this.paused) replica.resume();
    this.paused = [];
  }

  /** Restarts a killed server empty, as a replica in sync with the current primary; or restarts a sentinel. */
  async restart(server: RedisServer): Promise<void> {
    if (this.sentinelServers.includes(server)) {
      await server.restart();
      await this.hurry(server);
      return;
    }
    const primary = await this.primary();
    if (primary === server) throw new Error('no other server has been promoted yet: see promotedAfter()');
    await server.restart({ replicaof: `${primary.host} ${primary.port}` });
    await until('the restarted server is in sync', () => this.isInSync(server));
  }

  async flush(): Promise<void> {
    await this.control.of(await this.primary()).flushall();
  }

  /** All keys of the primary, sorted. */
  async keys(): Promise<string[]> {
    return (await this.control.of(await this.primary()).keys('*')).sort();
  }

  async close(): Promise<void> {
    for (const client of this.clients) client.disconnect();
    this.clients.clear();
    await Promise.all([...this.servers, ...this.sentinelServers].map((server) => server.close()));
  }

  private async form(): Promise<void> {
    const [primary, ...replicas] = this.servers as [RedisServer, ...RedisServer[]];
    await Promise.all([
      ...replicas.map((replica) =>
        this.control.of(replica).call('REPLICAOF', primary.host, String(primary.port)),
      ),
      ...this.sentinelServers.map((sentinel) => this.hurry(sentinel)),
    ]);
    await Promise.all(replicas.map((replica) => until('a replica is in sync', () => this.isInSync(replica))));
    // Only now: the sentinel's first look at the primary must find the replicas, since the next one comes later.
    await Promise.all(this.sentinelServers.map((sentinel) => this.watch(sentinel, primary)));
    await this.settled();
  }

  private async hurry(sentinel: RedisServer): Promise<void> {
    const periods = Object.entries(PERIODS).flat().map(String);
    await this.control
      .of(sentinel)
      .call('SENTINEL', 'DEBUG', ...periods)
      .catch(() => undefined);
  }

  private async watch(sentinel: RedisServer, primary: RedisServer): Promise<void> {
    const client = this.control.of(sentinel);
    await client.call('SENTINEL', 'MONITOR', NAME, primary.host, String(primary.port), String(AGREEING));
    const settings = [
      'down-after-milliseconds',
      ...[this.downAfter, ...Object.entries(WATCH).flat()].map(String),
    ];
    if (this.password !== undefined) settings.push('auth-pass', this.password);
    await client.call('SENTINEL', 'SET', NAME, ...settings);
  }

  /** The primary that the sentinel sees as healthy, like all other live servers, while it leads no failover. */
  private async primaryWellFor(sentinel: RedisServer): Promise<RedisServer | undefined> {
    const client = this.control.of(sentinel);
    const ask = (kind: string): Promise<unknown> => client.call('SENTINEL', kind, NAME);
    const [primary, replicas, sentinels] = (await Promise.all(
      ['MASTER', 'REPLICAS', 'SENTINELS'].map(ask),
    )) as [string[], string[][], string[][]];
    // Other flags mean that it is down, disconnected, or about to be replaced. In Valkey, other sentinels' opinions about the
    // primary stay after a failover; those sentinels are asked themselves.
    const well = [primary, ...replicas, ...sentinels]
      .filter((entry) => /^(master|slave|sentinel(,master_down)?)$/.test(valueIn(entry, 'flags')))
      .map((entry) => Number(valueIn(entry, 'port')));
    const all = [...this.servers, ...this.sentinelServers].filter((server) => server.isAnswering);
    if (!all.every((server) => server === sentinel || well.includes(server.port))) return undefined;
    const port = Number(valueIn(primary, 'port'));
    return well.includes(port) ? this.servers.find((server) => server.port === port) : undefined;
  }

  private answeringSentinel(): RedisServer {
    const sentinel = this.sentinelServers.find((server) => server.isAnswering);
    if (!sentinel) throw new Error('no sentinel is left');
    return sentinel;
  }

  private async toldBy(sentinel: RedisServer): Promise<RedisServer | undefined> {
    if (!sentinel.isAnswering) return undefined;
    const address = (await this.control
      .of(sentinel)
      .call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)
      .catch(() => null)) as [string, string] | null;
    return this.servers.find(({ port }) => port === Number(address?.[1]));
  }

  private async isInSync(replica: RedisServer): Promise<boolean> {
    const replication = await this.control.info(replica, 'replication');
    return replication['role'] === 'slave' && replication['master_link_status'] === 'up';
  }
}

/** Redis 7 replies with alternating names and values. */
function valueIn(entry: readonly string[], name: string): string {
  return entry[entry.indexOf(name) + 1] ?? '';
}
