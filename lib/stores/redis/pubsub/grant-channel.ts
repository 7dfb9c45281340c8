import type { Redis } from 'ioredis';
import { SUBSCRIBE_TIMEOUT } from '../../port/times.js';

/**
 * How a client listens: `p`, by a subscription; `s`, by a sharded one, which only the server of the slot serves (Redis 7);
 * `a`, by one that messages reach from any server of a cluster, so that `PUBLISH` can't count who receives them.
 */
export type PubSubMode = 'p' | 's' | 'a';

/**
 * The one subscription of a client at a server (P11). It is opened before the first wait and kept; while it is down,
 * waiters live by asking again, and as soon as it is back they are told to, since grants may have been missed (P14).
 */
export class GrantChannel {
  private client: Redis | undefined;
  private subscribed: string | undefined;
  private opening: Promise<void> | undefined;
  private warned = false;

  /** @param mode how to listen; a server that knows no sharded subscriptions makes `s` an `a` */
  constructor(
    private channel: string,
    public mode: PubSubMode,
    private readonly connect: () => Redis,
    private readonly listener: {
      message(text: string): void;
      resubscribed(): void;
      /** The channel belongs to another server by now. */
      moved(): void;
      warn(message: string): void;
    },
  ) {}

  get name(): string {
    return this.channel;
  }

  /** Whether it was opened, be it up at the moment or not. */
  get isOpen(): boolean {
    return this.client !== undefined && this.opening === undefined;
  }

  /**
   * Opens it; resolves when the server has acknowledged it, or when that did not work at once. Never rejects, but throws
   * when the session is closed: an answer may come yet that makes its request want to wait.
   */
  open(): Promise<void> {
    if (this.client !== undefined) return this.opening ?? Promise.resolve();
    const client = this.connect();
    this.client = client;
    let first = true;
    client.on('error', () => undefined); // the connection for commands reports the same
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
      // A connection that hangs keeps nobody from asking; when it is there after all, they ask again.
      const timeout = setTimeout(settle, SUBSCRIBE_TIMEOUT);
      client.on('ready', () => {
        void this.subscribe(client, () => !first).then(settle);
      });
    });
    client.connect().catch(() => undefined); // it keeps trying by itself
    return this.opening;
  }

  /** Listens on another channel from now on. Does nothing if it does so already. */
  listenOn(channel: string): void {
    this.channel = channel;
    if (this.client?.status !== 'ready' || this.subscribed === channel) return;
    void this.subscribe(this.client, () => true);
  }

  /**
   * A grant arrived by asking that should have been pushed: the connection may be half open, which only a request
   * without an answer brings to light.
   */
  suspect(): void {
    if (this.subscribed !== undefined) this.client?.ping().catch(() => undefined);
  }

  close(): void {
    this.client?.disconnect();
  }

  /** @param again whether waiters may have missed something meanwhile; asked when it is up */
  private async subscribe(client: Redis, again: () => boolean): Promise<void> {
    const { channel } = this;
    try {
      if (this.mode === 's') await this.subscribeSharded(client, channel);
      else await client.subscribe(channel);
      this.subscribed = channel;
    } catch (error) {
      this.failed(error as Error);
      return;
    }
    if (again()) this.listener.resubscribed();
  }

  private async subscribeSharded(client: Redis, channel: string): Promise<void> {
    try {
      await client.ssubscribe(channel);
    } catch (error) {
      if (!/unknown command/i.test((error as Error).message)) throw error;
      // Before Redis 7.
      this.mode = 'a';
      await client.subscribe(channel);
    }
  }

  private failed(error: Error): void {
    if (error.message.startsWith('MOVED')) this.listener.moved();
    // A refusal stays; a cut connection is followed by another try.
    else if (!this.warned && error.name === 'ReplyError') {
      this.warned = true;
      this.listener.warn(
        `Redis refused to subscribe to ${this.channel} (${error.message}). Waiters now poll once a second. ` +
          `Allow the user ${this.mode === 's' ? 'SSUBSCRIBE' : 'SUBSCRIBE'} and that channel.`,
      );
    }
  }
}
