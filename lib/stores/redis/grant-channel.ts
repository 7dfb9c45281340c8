import type { ServerConnection } from './connection/server-connection.js';
import type { PubSubMode } from './scripts/key-names.js';
import type { LockStoreClient } from '../port/lock-store.js';
import { pauseBeforeConnecting } from '../port/times.js';

type Connection = ReturnType<ServerConnection['another']>;

/**
 * How often the subscription is opened again at another server than that of the requests: for about a minute, in which
 * the name of a primary may still lead to the former one.
 */
const MOST_STRAYS = 20;
/** The longest pause in between, ms. */
const LONGEST_PAUSE = 5_000;

/**
 * The subscription of a client at the server of its requests: scripts count the subscribers of their own server only. While
 * it is down, waiters poll; when it is up, they request again at once, since they may have missed grants.
 */
export class GrantChannel {
  private connection: Connection | undefined;
  private subscribed: string | undefined;
  private wasSubscribed = false;
  private warned = false;
  /** How often in a row the subscription has been found at another server. */
  private strays = 0;
  /** Further channels, and when the server has confirmed each subscription. */
  private readonly others = new Map<string, Promise<void>>();
  private readonly confirmed = new Set<string>();
  /** Those, and others to which a subscription or its end is in flight. */
  private readonly counted = new Set<string>();

  /**
   * @param name of the channel
   * @param mode `s` becomes `a` if the server has no sharded pub/sub
   * @param onMoved called when another server has the slot of the channel
   */
  constructor(
    public name: string,
    public mode: PubSubMode,
    private readonly link: Pick<ServerConnection, 'another' | 'connect' | 'connector' | 'isReady' | 'watch'>,
    private readonly client: Pick<LockStoreClient, 'pollNow' | 'warn'>,
    private readonly onMessage: (channel: string, text: string) => void,
    private readonly onMoved: () => void,
  ) {}

  /** In the background: until it is up, waiters poll. */
  open(): void {
    if (this.connection !== undefined) return;
    const connection = this.link.another();
    const { redis } = connection;
    this.connection = connection;
    redis.on('error', () => undefined); // the connection for requests reports the same
    const receive = (channel: string, text: string): void => this.onMessage(channel, text);
    redis.on('message', receive);
    redis.on('smessage', receive);
    redis.on('moved', () => {
      this.subscribed = undefined;
      this.onMoved();
    });
    redis.on('close', () => {
      this.subscribed = undefined;
      this.confirmed.clear();
      this.counted.clear();
    });
    redis.on('ready', () => {
      void this.subscribe(connection);
      void this.follow();
    });
    this.link.connect(redis).catch(() => undefined); // ioredis keeps trying
  }

  /**
   * Opens the subscription again if it is at another server than the requests, such as a former primary whose connections
   * live on after a failover.
   *
   * @param again whether to do that, too, if the servers can't be compared
   */
  async follow(again = false): Promise<void> {
    const { connection, link } = this;
    if (connection === undefined) return;
    const { redis, watch } = connection;
    const { server } = watch;
    const [here, there] = await Promise.all([server, link.watch.server]);
    // Closed meanwhile, by either side: compared again when it is open.
    if (server !== watch.server || redis.status !== 'ready' || !link.isReady) return;
    const isKnown = here !== undefined && there !== undefined;
    if (again || here === there) this.strays = 0;
    if (isKnown ? here === there : !again) return;
    this.strays += 1;
    if (this.strays > MOST_STRAYS) {
      this.warnOnce(
        `Messages of Redis at ${link.connector.address} come from another server than the replies to requests. Waiters ` +
          'now poll once a second. Use an address that leads to the primary only.',
      );
      return;
    }
    const pause = this.strays === 1 ? 0 : pauseBeforeConnecting(this.strays, LONGEST_PAUSE);
    setTimeout(() => {
      if (server === watch.server && redis.status === 'ready') redis.disconnect(true);
    }, pause).unref();
  }

  /** Switches to another channel, unless it is the current one. */
  listenOn(channel: string): void {
    this.name = channel;
    const { connection } = this;
    if (connection?.redis.status !== 'ready' || this.subscribed === channel) return;
    void this.subscribe(connection);
  }

  /**
   * Listens on a further channel. Resolves when the server has confirmed that, or when it can't be: then there are no
   * messages, and waiters poll.
   */
  join(channel: string): Promise<void> {
    const joined = this.subscribeTo(channel).catch(() => {
      this.counted.delete(channel);
    });
    this.others.set(channel, joined);
    return joined;
  }

  /** Resolves as {@link join} did; undefined if it was not called. */
  joined(channel: string): Promise<void> | undefined {
    return this.others.get(channel);
  }

  leave(channel: string): void {
    this.others.delete(channel);
    const { connection } = this;
    if (connection === undefined || !this.confirmed.delete(channel)) return;
    const { redis, watch } = connection;
    const left = this.mode === 's' ? redis.sunsubscribe(channel) : redis.unsubscribe(channel);
    const gone = (): void => {
      if (!this.others.has(channel)) this.counted.delete(channel);
    };
    watch.request(left).then(gone, gone);
  }

  /** Whether the server may count this client among the listeners on a further channel. */
  hears(channel: string): boolean {
    return this.counted.has(channel);
  }

  /** Called after a poll found a grant that was not pushed: the connection may be half open, which a request reveals. */
  suspect(): void {
    const { connection, subscribed } = this;
    if (connection === undefined || subscribed === undefined) return;
    connection.watch.request(connection.redis.ping()).catch(() => undefined);
  }

  private async subscribe(connection: Connection): Promise<void> {
    const { name: channel } = this;
    // Those of a slot that went away and came back are no longer subscribed, either.
    for (const other of this.others.keys()) void this.join(other);
    try {
      await this.send(connection, channel);
      this.subscribed = channel;
      this.wasSubscribed = true;
    } catch (error) {
      this.failed(error as Error);
      return;
    }
    // Waiters may have missed messages. While the connection for requests is down, they request again when it is back.
    if (this.link.isReady) this.client.pollNow();
  }

  private async subscribeTo(channel: string): Promise<void> {
    const { connection } = this;
    if (connection?.redis.status !== 'ready') return;
    this.counted.add(channel);
    await this.send(connection, channel);
    this.confirmed.add(channel);
    // Nobody waits any more.
    if (!this.others.has(channel)) this.leave(channel);
  }

  private async send(connection: Connection, channel: string): Promise<void> {
    if (this.mode === 's') await this.subscribeSharded(connection, channel);
    else await connection.watch.request(connection.redis.subscribe(channel));
  }

  private async subscribeSharded({ redis, watch }: Connection, channel: string): Promise<void> {
    try {
      await watch.request(redis.ssubscribe(channel));
    } catch (error) {
      if (!/unknown command/i.test((error as Error).message)) throw error;
      // Redis before 7.
      this.mode = 'a';
      await watch.request(redis.subscribe(channel));
    }
  }

  private failed(error: Error): void {
    if (error.message.startsWith('MOVED')) this.onMoved();
    // A rejection is permanent; after a lost connection there is another attempt. The check at start reports a missing right.
    else if (this.wasSubscribed && error.name === 'ReplyError') {
      this.warnOnce(
        `Redis refused to subscribe to ${this.name} (${error.message}). Waiters now poll once a second. ` +
          `Allow the user ${this.mode === 's' ? 'SSUBSCRIBE' : 'SUBSCRIBE'} and that channel.`,
      );
    }
  }

  private warnOnce(message: string): void {
    if (this.warned) return;
    this.warned = true;
    this.client.warn(message);
  }
}
