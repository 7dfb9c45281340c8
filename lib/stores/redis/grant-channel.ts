import type { Redis } from 'ioredis';
import { SUBSCRIBE_TIMEOUT } from '../port/times.js';

/**
 * How a client subscribes: `p`, plain; `s`, sharded, which only the server of the slot delivers (Redis 7); `a`, plain in a
 * cluster, where messages arrive from any server, so that `PUBLISH` cannot count the receivers.
 */
export type PubSubMode = 'p' | 's' | 'a';

/**
 * The subscription of a client at one server (P11). Opened before the first wait, then kept. While it is down, waiters
 * poll; when it is back, they ask at once, since they may have missed grants (P14).
 */
export class GrantChannel {
  private client: Redis | undefined;
  private subscribed: string | undefined;
  private opening: Promise<void> | undefined;
  private warned = false;

  /** @param mode `s` becomes `a` if the server has no sharded pub/sub */
  constructor(
    private channel: string,
    public mode: PubSubMode,
    private readonly connect: () => Redis,
    private readonly listener: {
      message(text: string): void;
      resubscribed(): void;
      /** Another server has the slot of the channel now. */
      moved(): void;
      warn(message: string): void;
    },
  ) {}

  get name(): string {
    return this.channel;
  }

  /** Whether it has been opened, even if the connection is down at the moment. */
  get isOpen(): boolean {
    return this.client !== undefined && this.opening === undefined;
  }

  /**
   * Resolves when the server has acknowledged the subscription, or when the first attempt failed. Never rejects, but
   * throws after the session was closed: a late reply may still want to wait.
   */
  open(): Promise<void> {
    if (this.client !== undefined) return this.opening ?? Promise.resolve();
    const client = this.connect();
    this.client = client;
    let first = true;
    client.on('error', () => undefined); // the connection for requests reports the same
    const receive = (_channel: string, text: string): void => {
      this.listener.message(text);
    };
    client.on('message', receive);
    client.on('smessage', receive);
    client.on('moved', () => {
      this.subscribed = undefined;
      this.listener.moved();
    });
    client.on('close', () => {
      this.subscribed = undefined;
    });
    this.opening = new Promise<void>((resolve) => {
      const settle = (): void => {
        clearTimeout(timeout);
        this.opening = undefined;
        first = false;
        resolve();
      };
      client.once('close', settle);
      // A connection that hangs must not keep callers from asking. Once it is up, they ask again.
      const timeout = setTimeout(settle, SUBSCRIBE_TIMEOUT);
      client.on('ready', () => {
        void this.subscribe(client, () => !first).then(settle);
      });
    });
    client.connect().catch(() => undefined); // ioredis keeps trying
    return this.opening;
  }

  /** Switches to another channel, unless it is the current one. */
  listenOn(channel: string): void {
    this.channel = channel;
    if (this.client?.status !== 'ready' || this.subscribed === channel) return;
    void this.subscribe(this.client, () => true);
  }

  /** After a poll found a grant that was not pushed: the connection may be half open, which a request brings to light. */
  suspect(): void {
    if (this.subscribed !== undefined) this.client?.ping().catch(() => undefined);
  }

  close(): void {
    this.client?.disconnect();
  }

  /** @param mayHaveMissed whether waiters may have missed messages; called when the subscription is up */
  private async subscribe(client: Redis, mayHaveMissed: () => boolean): Promise<void> {
    const { channel } = this;
    try {
      if (this.mode === 's') await this.subscribeSharded(client, channel);
      else await client.subscribe(channel);
      this.subscribed = channel;
    } catch (error) {
      this.failed(error as Error);
      return;
    }
    if (mayHaveMissed()) this.listener.resubscribed();
  }

  private async subscribeSharded(client: Redis, channel: string): Promise<void> {
    try {
      await client.ssubscribe(channel);
    } catch (error) {
      if (!/unknown command/i.test((error as Error).message)) throw error;
      // Redis before 7.
      this.mode = 'a';
      await client.subscribe(channel);
    }
  }

  private failed(error: Error): void {
    if (error.message.startsWith('MOVED')) this.listener.moved();
    // A rejection is permanent; after a lost connection there is another attempt.
    else if (!this.warned && error.name === 'ReplyError') {
      this.warned = true;
      this.listener.warn(
        `Redis refused to subscribe to ${this.channel} (${error.message}). Waiters now poll once a second. ` +
          `Allow the user ${this.mode === 's' ? 'SSUBSCRIBE' : 'SUBSCRIBE'} and that channel.`,
      );
    }
  }
}
