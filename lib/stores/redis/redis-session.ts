import type { Redis } from 'ioredis';
import {
  LockStoreError,
  type AskReply,
  type AskRequest,
  type LockStoreClient,
  type LockStoreSession,
  type OwnerRequest,
  type ReleaseReply,
  type RenewReply,
  type RenewRequest,
  type StoredHold,
} from '../lock-store.js';
import { GrantChannel } from './grant-channel.js';
import type { KeyNames } from './key-names.js';
import { PushedGrants } from './pushed-grants.js';
import type { RedisConnector } from './redis-connection.js';
import { failureOf, notConnected } from './redis-failure.js';
import { acquireScript, type AcquireReply } from './scripts/acquire.script.js';
import { cancelScript } from './scripts/cancel.script.js';
import { forceReleaseScript } from './scripts/force-release.script.js';
import { inspectScript } from './scripts/inspect.script.js';
import { releaseScript } from './scripts/release.script.js';
import { renewScript } from './scripts/renew.script.js';

/** How long a waiter keeps its place without asking again, ms: three polls (P15). */
const PATIENCE = 3_000;
/** How long a tombstone keeps late requests out, ms (P32). */
const TOMBSTONE = 60_000;

/** One client's connections to one Redis server, and the requests on them. */
export class RedisSession implements LockStoreSession {
  private readonly redis: Redis;
  private readonly channel: GrantChannel;
  private readonly pushed: PushedGrants;
  private connectionError: Error | undefined;
  private databaseError: Error | undefined;
  private wasReady = false;

  constructor(
    connector: RedisConnector,
    private readonly names: KeyNames,
    private readonly client: LockStoreClient,
  ) {
    // Well below a third of the lease, so that a renewal can fail and be tried again (P31).
    const requestTimeout = Math.min(2_000, client.watchdogTimeout / 6);
    this.redis = connector.connect(requestTimeout);
    this.redis.on('error', (error: Error & { command?: { name?: string } }) => {
      this.connectionError = error;
      // ioredis goes on without the database that was asked for; locks must not.
      if (error.command?.name === 'select') this.databaseError = error;
    });
    this.redis.on('close', () => {
      this.databaseError = undefined;
    });
    this.redis.on('ready', () => {
      this.connectionError = undefined;
      if (this.wasReady) client.askAgain();
      this.wasReady = true;
    });
    this.pushed = new PushedGrants(client);
    this.channel = new GrantChannel(names.channels + client.id, () => connector.connect(requestTimeout), {
      message: (text) => {
        this.pushed.receive(text);
      },
      resubscribed: () => {
        client.askAgain();
      },
      warn: (message) => {
        client.warn(message);
      },
    });
  }

  async start(): Promise<void> {
    try {
      await this.redis.connect();
    } catch (error) {
      this.wasReady = true; // the first connection comes late, so that waiters want to hear of it
      throw notConnected(this.connectionError ?? (error as Error));
    }
    this.checkDatabase();
  }

  async ask(request: AskRequest): Promise<AskReply> {
    if (!request.wait) return replyOf(await this.acquire(request, false));
    if (!this.channel.isOpen) {
      // A free lock needs no subscription (P7); a held one is waited for only with one (P14).
      const first = await this.acquire(request, false);
      if (first.outcome !== 'busy') return replyOf(first);
      await this.channel.open();
    }
    return await this.queue(request);
  }

  async cancel(request: OwnerRequest): Promise<void> {
    this.pushed.forget(request.owner);
    await this.send(() => cancelScript.run(this.redis, this.keysOf(request), this.endingOf(request)));
  }

  async release(request: OwnerRequest): Promise<ReleaseReply> {
    const reply = await this.send(() =>
      releaseScript.run(this.redis, this.keysOf(request), this.endingOf(request)),
    );
    return reply === 'not-held' ? reply : 'released';
  }

  async renew(requests: readonly RenewRequest[]): Promise<readonly RenewReply[]> {
    const each = requests.map(({ key, owner, lease }) => ({ lock: this.names.of(key).lock, owner, lease }));
    return await this.send(() => renewScript.runMany(this.redis, each));
  }

  async inspect(key: string): Promise<StoredHold | null> {
    const { lock, queue, waiters } = this.names.of(key);
    return await this.send(() =>
      inspectScript.run(this.redis, { lock, queue, waiters }, { client: this.client.id }),
    );
  }

  async forceRelease(key: string): Promise<boolean> {
    const { lock, queue, waiters } = this.names.of(key);
    const { fence, channels } = this.names;
    return await this.send(() =>
      forceReleaseScript.run(this.redis, { lock, queue, waiters, fence }, { channels }),
    );
  }

  close(): Promise<void> {
    this.channel.close();
    this.redis.disconnect();
    return Promise.resolve();
  }

  /** Asks with a place in the queue, and keeps what is needed to place a pushed grant in time. */
  private async queue(request: AskRequest): Promise<AskReply> {
    const { owner } = request;
    const wasWaiting = this.pushed.isWaiting(owner);
    const sentAt = this.client.now();
    this.pushed.asking(owner, sentAt);
    let reply: AcquireReply;
    try {
      reply = await this.acquire(request, true);
    } catch (error) {
      const failure = failureOf(error, this.connectionError);
      if (!failure.inDoubt && !this.pushed.isWaiting(owner)) this.pushed.forget(owner);
      throw failure;
    }
    if (reply.outcome === 'queued') this.pushed.queued(owner, sentAt, reply.serverTime);
    else this.pushed.forget(owner);
    if (reply.outcome === 'granted' && wasWaiting) this.channel.suspect();
    return replyOf(reply);
  }

  private async acquire(request: AskRequest, wait: boolean): Promise<AcquireReply> {
    const { owner, lease, claimLease, callers } = request;
    const { channels } = this.names;
    return await this.send(() =>
      acquireScript.run(this.redis, this.keysOf(request), {
        owner,
        lease,
        wait: wait ? 1 : 0,
        claim: claimLease,
        patience: PATIENCE,
        callers,
        channels,
      }),
    );
  }

  private keysOf({
    key,
    owner,
  }: Pick<OwnerRequest, 'key' | 'owner'>): Record<'lock' | 'queue' | 'waiters' | 'gone' | 'fence', string> {
    const names = this.names.of(key);
    return {
      lock: names.lock,
      queue: names.queue,
      waiters: names.waiters,
      gone: names.gone(owner),
      fence: this.names.fence,
    };
  }

  private endingOf({
    owner,
    inDoubt,
  }: OwnerRequest): Record<'owner' | 'tombstone' | 'channels', string | number> {
    return { owner, tombstone: inDoubt ? TOMBSTONE : 0, channels: this.names.channels };
  }

  private checkDatabase(): void {
    if (this.databaseError === undefined) return;
    throw new LockStoreError(`Redis does not have the database (${this.databaseError.message})`, {
      inDoubt: false,
      retryable: false,
    });
  }

  /** Tells a request that was not sent from one that may have been carried out. */
  private async send<T>(request: () => Promise<T>): Promise<T> {
    if (this.redis.status !== 'ready') throw notConnected(this.connectionError);
    this.checkDatabase();
    try {
      return await request();
    } catch (error) {
      throw failureOf(error, this.connectionError);
    }
  }
}

function replyOf(reply: AcquireReply): AskReply {
  if (reply.outcome === 'granted' || reply.outcome === 'cancelled') return reply;
  return { outcome: reply.outcome, holderLeaseLeft: reply.ttl < 0 ? undefined : reply.ttl };
}
