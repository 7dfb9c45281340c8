import type { Redis } from 'ioredis';

/** How long the first waiter holds back its request for the subscription, ms. */
const OPENING_PATIENCE = 500;

/**
 * The one subscription of a client (P11). It is opened before the first wait and kept; while it is down, waiters live
 * by asking again, and as soon as it is back they are told to, since grants may have been missed (P14).
 */
export class GrantChannel {
  private client: Redis | undefined;
  private subscribed = false;
  private opening: Promise<void> | undefined;
  private warned = false;

  constructor(
    private readonly channel: string,
    private readonly connect: () => Redis,
    private readonly listener: {
      message(text: string): void;
      resubscribed(): void;
      warn(message: string): void;
    },
  ) {}

  /** Whether it was opened, be it up at the moment or not. */
  get isOpen(): boolean {
    return this.client !== undefined && this.opening === undefined;
  }

  /** Opens it; resolves when the server has acknowledged it, or when that did not work at once. Never rejects. */
  open(): Promise<void> {
    if (this.client !== undefined) return this.opening ?? Promise.resolve();
    const client = this.connect();
    this.client = client;
    let first = true;
    client.on('error', () => undefined); // the connection for commands reports the same
    client.on('message', (_channel: string, text: string) => {
      this.listener.message(text);
    });
    client.on('close', () => {
      this.subscribed = false;
    });
    this.opening = new Promise<void>((resolve) => {
      const settle = (): void => {
        clearTimeout(patience);
        this.opening = undefined;
        first = false;
        resolve();
      };
      client.once('close', settle);
      // A connection that hangs keeps nobody from asking; when it is there after all, they ask again.
      const patience = setTimeout(settle, OPENING_PATIENCE);
      client.on('ready', () => {
        this.subscribe(client).then(
          () => {
            if (!first) this.listener.resubscribed();
            settle();
          },
          (error: unknown) => {
            this.failed(error as Error);
            settle();
          },
        );
      });
    });
    client.connect().catch(() => undefined); // it keeps trying by itself
    return this.opening;
  }

  /**
   * A grant arrived by asking that should have been pushed: the connection may be half open, which only a request
   * without an answer brings to light.
   */
  suspect(): void {
    if (this.subscribed) this.client?.ping().catch(() => undefined);
  }

  close(): void {
    this.client?.disconnect();
  }

  private async subscribe(client: Redis): Promise<void> {
    await client.subscribe(this.channel);
    this.subscribed = true;
  }

  private failed(error: Error): void {
    // A refusal stays; a cut connection is followed by another try.
    if (this.warned || error.name !== 'ReplyError') return;
    this.warned = true;
    this.listener.warn(
      `Redis refused to subscribe to ${this.channel} (${error.message}). Waiters now poll once a second. ` +
        'Allow the user SUBSCRIBE and that channel.',
    );
  }
}
