import type { LockStoreError } from './lock-store.js';
import { messageOf } from './store-failure.js';
import { pauseBeforeConnecting } from './times.js';

/** A connection to one server. It is ready once it is prepared. */
export interface Link {
  /** Ends it. Requests without a reply are in doubt. */
  cut(why: Error): void;
}

export interface ConnectionEvents {
  /** A connection that was ready has ended. */
  lost(): void;
  /** A connection is ready again, or for the first time after `open` failed. */
  back(): void;
}

/**
 * Keeps a connection to one of several servers. If it ends or can't be prepared, the next server is tried; pauses grow only
 * after every server was tried. There is never more than one connection.
 */
export abstract class KeptConnection<Server, L extends Link> {
  /** The connection, while it is ready. */
  ready: L | undefined;
  /** The server in use, or tried last. */
  server: Server | undefined;
  /** Why there is no connection. */
  failure: Error | undefined;
  private readonly servers: readonly Server[];
  /** The connection that is being prepared, or is ready. */
  private link: L | undefined;
  private next = 0;
  /** Number of attempts since the last connection was ready. */
  private attempts = 0;
  private pause: NodeJS.Timeout | undefined;
  /** Whether `open` has ended, so that it connects in the background. */
  private isOpened = false;
  protected isClosed = false;

  constructor(
    servers: readonly Server[],
    private readonly listener: ConnectionEvents,
  ) {
    // Clients spread over the servers.
    this.servers = servers
      .map((server) => ({ server, at: Math.random() }))
      .sort((one, other) => one.at - other.at)
      .map(({ server }) => server);
  }

  /** Tries each server once. Rejects if no server is reachable, and keeps trying in the background. */
  async open(): Promise<void> {
    for (let left = this.servers.length; left > 0; left--) if (await this.tryNext()) return;
    this.isOpened = true;
    this.connectLater();
    throw this.notConnected();
  }

  /** Why nothing can be sent. */
  abstract notConnected(): LockStoreError;

  /** Connects again. The outcome of pending requests is unknown. */
  reconnect(why: string): void {
    this.link?.cut(new Error(why));
  }

  /**
   * Begins to connect; may throw.
   *
   * @param onEnd to be called when the connection has ended, whatever the reason
   */
  protected abstract connect(server: Server, onEnd: (cause: Error) => void): L;

  /** Resolves when the connection can be used. */
  protected abstract prepare(link: L, server: Server): Promise<void>;

  /** For `prepare` before it fails: the server is well, so the next attempt goes to it without a long pause. */
  protected tryAgain(): void {
    this.next -= 1;
    this.attempts = 0;
  }

  /** Stops connecting. Returns the connection that is being prepared, or is ready, for the caller to end. */
  protected stop(): L | undefined {
    const { link } = this;
    this.isClosed = true;
    this.link = this.ready = undefined;
    clearTimeout(this.pause);
    return link;
  }

  private async tryNext(): Promise<boolean> {
    const server = this.servers[this.next++ % this.servers.length];
    if (server === undefined || this.isClosed) return false;
    this.server = server;
    let link: L | undefined;
    try {
      link = this.connect(server, (cause) => this.ended(link, cause));
      this.link = link;
      await this.prepare(link, server);
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(messageOf(error));
      link?.cut(this.failure);
      this.link = undefined;
    }
    if (link === undefined || this.link !== link) {
      this.connectLater();
      return false;
    }
    this.ready = link;
    this.failure = undefined;
    this.attempts = 0;
    if (this.isOpened) this.listener.back();
    this.isOpened = true;
    return true;
  }

  private ended(link: L | undefined, cause: Error): void {
    if (link === undefined || this.link !== link) return;
    const { ready } = this;
    this.link = this.ready = undefined;
    this.failure = cause;
    // Otherwise `tryNext` goes on when the preparation has failed.
    if (ready === undefined) return;
    this.listener.lost();
    this.connectLater();
  }

  private connectLater(): void {
    if (this.isClosed || !this.isOpened) return;
    const round = Math.floor(this.attempts++ / this.servers.length);
    this.pause = setTimeout(() => void this.tryNext(), pauseBeforeConnecting(round));
  }
}
