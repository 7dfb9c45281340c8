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
  type ReserveReply,
  type ReserveRequest,
  type StoredHold,
} from '../lock-store.js';
import { Gathered } from './gathered.js';
import { GrantChannel } from './grant-channel.js';
import type { KeyNames } from './key-names.js';
import { Outbox } from './outbox.js';
import { PushedGrants } from './pushed-grants.js';
import type { RedisConnector } from './redis-connection.js';
import { failureOf, notConnected } from './redis-failure.js';
import { acquireScript, type AcquireReply } from './scripts/acquire.script.js';
import { cancelScript } from './scripts/cancel.script.js';
import { forceReleaseScript } from './scripts/force-release.script.js';
import { inspectScript } from './scripts/inspect.script.js';
import { releaseScript } from './scripts/release.script.js';
import { renewScript } from './scripts/renew.script.js';
import { reserveScript } from './scripts/reserve.script.js';
import type { ScriptCall } from './scripts/script.js';
import { takeScript, type TakeReply } from './scripts/take.script.js';

/** How long a waiter keeps its place without asking again, ms: three polls (P15). */
const PATIENCE = 3_000;
/** How long a tombstone keeps late requests out, ms (P32). */
const TOMBSTONE = 60_000;

/** One client's connections to one Redis server, and the requests on them. */
export class RedisSession implements LockStoreSession {
  private readonly redis: Redis;
  private readonly outbox: Outbox;
  private readonly takes: Gathered<AskRequest, TakeReply, AskReply>;
  private readonly releases: Gathered<OwnerRequest, ReleaseReply | LockStoreError, ReleaseReply>;
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
    this.outbox = new Outbox(
      this.redis,
      () => {
        this.checkConnection();
      },
      (error) => failureOf(error, this.connectionError),
    );
    this.releases = new Gathered(
      this.outbox,
      (requests) => this.releaseCall(requests),
      (_, reply) => {
        if (reply instanceof LockStoreError) throw reply;
        return reply;
      },
    );
    this.takes = new Gathered(
      this.outbox,
      (requests) => this.takeCall(requests),
      (request, reply) => this.taken(request, reply),
    );
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

  ask(request: AskRequest): PromiseLike<AskReply> {
    const known = request.contended || this.pushed.knows(request.owner);
    if (request.wait && known && this.channel.isOpen) return this.queue(request);
    return this.takes.add(request);
  }

  async cancel(request: OwnerRequest): Promise<void> {
    this.pushed.forget(request.owner);
    const { owner, inDoubt } = request;
    const { channels } = this.names;
    const tombstone = inDoubt ? TOMBSTONE : 0;
    await this.outbox.post(cancelScript.with(this.keysOf(request), { owner, tombstone, channels }));
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    this.pushed.forget(request.owner);
    return this.releases.add(request);
  }

  async renew(requests: readonly RenewRequest[]): Promise<readonly RenewReply[]> {
    const each = requests.map(({ key, owner, lease }) => ({ lock: this.names.of(key).lock, owner, lease }));
    return await this.outbox.post(renewScript.with(each, {}));
  }

  async reserve({ key, owner, lease, tokens }: ReserveRequest): Promise<ReserveReply> {
    const { lock, queue } = this.names.of(key);
    const { fence } = this.names;
    // Now, so that the answer is here when it is needed: holds may follow each other for the rest of the tick.
    return await this.outbox.postNow(reserveScript.with({ lock, queue, fence }, { owner, lease, tokens }));
  }

  async inspect(key: string): Promise<StoredHold | null> {
    const { lock, queue, waiters } = this.names.of(key);
    return await this.outbox.post(inspectScript.with({ lock, queue, waiters }, { client: this.client.id }));
  }

  async forceRelease(key: string): Promise<boolean> {
    const { lock, queue, waiters } = this.names.of(key);
    const { fence, channels } = this.names;
    return await this.outbox.post(forceReleaseScript.with({ lock, queue, waiters, fence }, { channels }));
  }

  close(): Promise<void> {
    this.channel.close();
    this.redis.disconnect();
    return Promise.resolve();
  }

  private taken(request: AskRequest, reply: TakeReply): AskReply | Promise<AskReply> {
    if (reply.token !== undefined) {
      const { token, since } = reply;
      return { outcome: 'granted', token, since, tokens: request.tokens, othersWait: false };
    }
    if (request.wait) return this.subscribeAndQueue(request);
    // Held, so that there is nothing more to find out; or free with a queue, whose head is to get it (P16).
    if (reply.ttl !== -2) return { outcome: 'busy', holderLeaseLeft: leftOf(reply.ttl) };
    return this.acquire(request).then(replyOf);
  }

  /** A free lock needs no subscription (P7); a held one is waited for only with one (P14). */
  private async subscribeAndQueue(request: AskRequest): Promise<AskReply> {
    if (!this.channel.isOpen) await this.channel.open();
    return await this.queue(request);
  }

  /** Asks with a place in the queue, and keeps what is needed to place a pushed grant in time. */
  private async queue(request: AskRequest): Promise<AskReply> {
    const { owner } = request;
    const wasWaiting = this.pushed.isWaiting(owner);
    const sentAt = this.client.now();
    const isFirst = this.pushed.asking(owner, sentAt);
    let reply: AcquireReply;
    try {
      reply = await this.acquire(request);
    } catch (error) {
      const failure = failureOf(error, this.connectionError);
      if (isFirst && !failure.inDoubt) this.pushed.forget(owner);
      throw failure;
    }
    if (reply.outcome === 'queued') this.pushed.queued(owner, sentAt, reply.serverTime);
    else this.pushed.forget(owner);
    if (reply.outcome === 'granted' && wasWaiting) this.channel.suspect();
    return replyOf(reply);
  }

  private acquire(request: AskRequest): Promise<AcquireReply> {
    const { owner, lease, wait, claimLease, callers, tokens } = request;
    const { channels } = this.names;
    return this.outbox.post(
      acquireScript.with(this.keysOf(request), {
        owner,
        lease,
        wait: wait ? 1 : 0,
        claim: claimLease,
        patience: PATIENCE,
        callers,
        channels,
        tokens,
      }),
    );
  }

  private takeCall(requests: readonly AskRequest[]): ScriptCall<TakeReply[]> {
    const each = requests.map(({ key, owner, lease, tokens }) => {
      const names = this.names.of(key);
      return { lock: names.lock, queue: names.queue, gone: names.gone(owner), owner, lease, tokens };
    });
    return takeScript.with(each, { fence: this.names.fence });
  }

  private releaseCall(requests: readonly OwnerRequest[]): ScriptCall<(ReleaseReply | LockStoreError)[]> {
    const each = requests.map(({ key, owner, inDoubt }) => {
      const names = this.names.of(key);
      return {
        lock: names.lock,
        queue: names.queue,
        waiters: names.waiters,
        gone: names.gone(owner),
        owner,
        tombstone: inDoubt ? TOMBSTONE : 0,
      };
    });
    return releaseScript.with(each, { fence: this.names.fence, channels: this.names.channels });
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

  private checkDatabase(): void {
    if (this.databaseError === undefined) return;
    throw new LockStoreError(`Redis does not have the database (${this.databaseError.message})`, {
      inDoubt: false,
      retryable: false,
    });
  }

  /** Nothing is sent on a connection that is down, so that nothing arrives late (P31). */
  private checkConnection(): void {
    if (this.redis.status !== 'ready') throw notConnected(this.connectionError);
    this.checkDatabase();
  }
}

function replyOf(reply: AcquireReply): AskReply {
  if (reply.outcome === 'granted' || reply.outcome === 'cancelled') return reply;
  return { outcome: reply.outcome, holderLeaseLeft: leftOf(reply.ttl) };
}

/** ms left, by a ttl of Redis, which is negative for a key without an end. */
function leftOf(ttl: number): number | undefined {
  return ttl < 0 ? undefined : ttl;
}
