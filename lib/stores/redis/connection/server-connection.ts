import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { inMs } from '../../../common/durations.js';
import {
  LockStoreError,
  type MonotonicMs,
  type OwnerId,
  type OwnerRequest,
  type StoreConnection,
} from '../../port/lock-store.js';
import { adviceOn } from '../../port/store-failure.js';
import { ReplyTimeout } from '../../port/times.js';
import type { ServerConnector } from './redis-connection.js';
import { isReplica, notConnected, redisFailure, redisRemedies } from './redis-failure.js';

/** How long releases are kept at least, ms: longer than a planned failover by Sentinel lets clients write to the former primary. */
const KEPT = 5_000;
/** The most that are kept are twice as many. */
const MOST = 4_096;

/** How many items of a list one of them takes. */
const FIELDS = 3;
/** Its flags. */
const GRANTED = 1;
const DOUBTED = 2;

/** The connection for the requests to one server, and its events. */
export class ServerConnection {
  readonly redis: Redis;
  /** Times the requests on `redis`. */
  readonly watch: ReplyWatch;
  /** The number of the current connection; writes of earlier ones are not covered by it. */
  count = 0;
  /** Why nothing may be sent, although the server is reachable. */
  refusal: LockStoreError | undefined;

  private failure: Error | undefined;
  private wasExpected = false;
  private closed = false;
  /** Connections besides the one for requests, while they are up or trying to connect. */
  private readonly others = new Set<Redis>();

  constructor(
    readonly connector: ServerConnector,
    private readonly requestTimeout: number,
    listener: {
      /** The connection is up after it was lost, or after `open` rejected. */
      back(): void;
      lost(): void;
    },
  ) {
    this.redis = connector.create(requestTimeout);
    this.watch = new ReplyWatch(this.redis, requestTimeout, (error) => {
      this.failure = error;
    });
    this.reconnectAlways(this.redis);
    this.redis.on('error', (error: Error & { command?: { name?: string } }) => {
      this.failure = error;
      // ioredis continues in another database than the selected one; locks must not.
      if (error.command?.name === 'select') this.refusal = withoutDatabase(error);
    });
    this.redis.on('close', () => {
      this.refusal = undefined;
      this.count += 1;
      listener.lost();
    });
    this.redis.on('ready', () => {
      this.failure = undefined;
      if (this.wasExpected) listener.back();
      this.wasExpected = true;
    });
  }

  /** Rejects with a `LockStoreError` if the server is unreachable; the connection keeps trying. */
  async open(): Promise<void> {
    try {
      await this.firstConnection();
    } catch (error) {
      this.wasExpected = true;
      throw notConnected(this.failure ?? (error as Error));
    }
    if (this.refusal !== undefined) throw this.refusal;
  }

  /** Opens a connection that `another` has created. */
  connect(client: Redis): Promise<void> {
    return this.connector.connect(client);
  }

  /**
   * Creates one more connection, not yet open, and its watch. Throws after `close()`, which could no longer close it. Ended
   * by `end(redis)`.
   */
  another(): { readonly redis: Redis; readonly watch: ReplyWatch } {
    if (this.closed) throw notConnected(this.failure);
    const redis = this.connector.create(this.requestTimeout);
    this.others.add(redis);
    this.reconnectAlways(redis);
    return { redis, watch: new ReplyWatch(redis, this.requestTimeout, () => undefined) };
  }

  end(redis: Redis): void {
    this.others.delete(redis);
    redis.disconnect();
  }

  connections(): readonly StoreConnection[] {
    return [this.redis, ...this.others].map((redis, index) => ({
      name: `${this.connector.address} ${index === 0 ? 'requests' : 'messages'}`,
      isOpen: redis.status === 'ready',
    }));
  }

  get isReady(): boolean {
    return this.redis.status === 'ready';
  }

  /** Throws unless the connection is up. Requests are sent at once or not at all, so that none arrives late. */
  check(): void {
    if (!this.isReady) throw notConnected(this.failure);
    if (this.refusal !== undefined) throw this.refusal;
  }

  /** Sends a single command. Rejects with a `LockStoreError`. */
  async do<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    try {
      this.check();
      return await this.watch.request(command(this.redis));
    } catch (error) {
      throw this.failureOf(error);
    }
  }

  /** The failure of the request for an error of ioredis. */
  failureOf(error: unknown): LockStoreError {
    // Explains why the connection is down next: ioredis opens another one, and waits until its server is ready.
    if (error instanceof Error && isReplica(error.message)) this.failure = error;
    return redisFailure(error, this.failure);
  }

  close(): void {
    this.closed = true;
    this.redis.disconnect();
    for (const redis of this.others) this.end(redis);
  }

  /**
   * ioredis stops permanently when a sentinel reports a failover while ioredis is looking for the primary: it has no
   * connection to close yet, and mistakes that for a `disconnect()` by the user.
   */
  private reconnectAlways(redis: Redis): void {
    redis.on('end', () => {
      const isWanted = redis === this.redis ? !this.closed : this.others.has(redis);
      // Failures are reported by events.
      if (isWanted) redis.connect().catch(() => undefined);
    });
  }

  /** ioredis asks sentinels indefinitely while they can't name a primary; the application does not wait for that. */
  private async firstConnection(): Promise<void> {
    if (!this.redis.options.sentinels) {
      await this.connector.connect(this.redis);
      return;
    }
    const failed = once(this.redis, 'error').then(([error]: unknown[]) => Promise.reject(error as Error));
    await Promise.race([this.connector.connect(this.redis), failed]);
  }
}

/** A number, which takes no memory of its own, if the text is one. */
function compact(text: string): string | number {
  const number = Number(text);
  return String(number) === text ? number : text;
}

/**
 * The last releases of a session that had a reply; the engine repeats the others. A failover loses those that the former
 * primary had not replicated: the new one would keep the lock for a hold that no process has. An owner is used once, so
 * repeating its release has no other effect.
 */
export class RecentReleases {
  /** For each release its key, its owner without the client id, and its flags: objects would take four times the memory. */
  private latest: (string | number)[] = [];
  private earlier: (string | number)[] = [];
  private since = -Infinity;

  /** @param clientId with which every owner begins */
  constructor(private readonly clientId: string) {}

  add({ key, owner, wasGranted, inDoubt }: OwnerRequest, now: MonotonicMs): void {
    if (now - this.since > KEPT || this.latest.length === FIELDS * MOST) {
      this.earlier = this.latest;
      this.latest = [];
      this.since = now;
    }
    const flags = (wasGranted ? GRANTED : 0) + (inDoubt ? DOUBTED : 0);
    this.latest.push(key, compact(owner.slice(this.clientId.length + 1)), flags);
  }

  /** Oldest first. They are no longer kept here. */
  take(): readonly OwnerRequest[] {
    const all = [...this.earlier, ...this.latest];
    this.earlier = [];
    this.latest = [];
    const requests: OwnerRequest[] = [];
    for (let index = 0; index < all.length; index += FIELDS) {
      const flags = Number(all[index + 2]);
      requests.push({
        key: String(all[index]),
        owner: `${this.clientId}:${String(all[index + 1])}` as OwnerId,
        wasGranted: (flags & GRANTED) > 0,
        inDoubt: (flags & DOUBTED) > 0,
      });
    }
    return requests;
  }
}

function withoutDatabase({ message }: Error): LockStoreError {
  return new LockStoreError(`Redis does not have the database (${message})`, {
    inDoubt: false,
    retryable: false,
    remedy: adviceOn('database', redisRemedies),
  });
}

/**
 * Closes a connection that owes a reply for too long, so that ioredis opens another one. The option `socketTimeout` of
 * ioredis also closes it when this process was busy.
 */
export class ReplyWatch {
  /**
   * The `run_id` of the server to which the connection leads: known soon after it is open. Undefined while it is not, and
   * where the user may not run `INFO`.
   */
  server: Promise<string | undefined> = Promise.resolve(undefined);
  /** Requests without a reply. */
  private due = 0;
  private isOpen = false;
  private nextProbe: NodeJS.Timeout | undefined;
  private readonly timeout: ReplyTimeout;

  /** @param requestTimeout ms */
  constructor(
    private readonly redis: Redis,
    private readonly requestTimeout: number,
    onOverdue: (error: Error) => void,
  ) {
    this.timeout = new ReplyTimeout(requestTimeout, () => {
      onOverdue(new Error(`no answer within ${inMs(requestTimeout)}`));
      redis.disconnect(true);
    });
    redis.on('connect', () => {
      this.isOpen = true;
      this.server = this.probe();
    });
    redis.on('ready', () => clearTimeout(this.nextProbe));
    redis.on('close', () => {
      clearTimeout(this.nextProbe);
      this.isOpen = false;
      this.server = Promise.resolve(undefined);
      this.timeout.stop();
    });
  }

  /** A request was sent. Its outcome is reported by `ended()`. */
  sent(): void {
    this.due += 1;
    if (this.due === 1 && this.isOpen) this.timeout.start();
  }

  ended(): void {
    this.due -= 1;
    if (!this.isOpen) return;
    if (this.due > 0) this.timeout.start();
    else this.timeout.pause();
  }

  /** Watches one request. */
  async request<T>(reply: PromiseLike<T>): Promise<T> {
    this.sent();
    try {
      return await reply;
    } finally {
      this.ended();
    }
  }

  /**
   * ioredis sets up the connection, and waits while the server loads its data. The server replies in order, so an overdue
   * reply to this command shows that those of ioredis before it are overdue, too.
   */
  private async probe(): Promise<string | undefined> {
    // An error is a reply as well; a lost connection is reported by its event.
    const info = await this.request(this.redis.info('server')).catch(() => undefined);
    if (this.redis.status === 'connect')
      this.nextProbe = setTimeout(() => void this.probe(), this.requestTimeout);
    return info === undefined ? undefined : /^run_id:(\w+)/m.exec(info)?.[1];
  }
}
