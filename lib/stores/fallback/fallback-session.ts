import {
  LockStoreError,
  type AskReply,
  type AskRequest,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
  type MonotonicMs,
  type OwnerId,
  type OwnerRequest,
  type PushedGrant,
  type ReleaseReply,
  type RenewRequest,
  type ReserveReply,
  type ReserveRequest,
  type StoredLock,
  type ListedKeys,
  type ListKeysRequest,
  type StoreConnection,
} from '../port/lock-store.js';
import { renewInParts, type RenewReplies } from '../port/forwarding-session.js';
import { SessionTimers } from '../port/times.js';
import { callAfterwards } from '../memory/memory-locks.js';
import { breaksOf, type Breaks } from './breaks.js';
import { CircuitBreaker, CONNECT_ROUND_TRIPS, isUnreachable, NO_KEY } from './circuit-breaker.js';
import { heldLocally, LocalLocks } from './local-locks.js';
import { StoredOwners } from './stored-owners.js';

type Reserve = NonNullable<LockStoreSession['reserve']>;

/**
 * One client of a store that may be away. Who is served in this process is decided owner by owner: what the store has
 * granted stays with the store, and what was granted here ends here.
 */
export class FallbackSession implements LockStoreSession {
  readonly reserve?: (request: ReserveRequest) => Promise<ReserveReply>;
  readonly forceRelease: Breaks['forceRelease'];
  readonly breakHold: Breaks['breakHold'];
  readonly whenSent = (key: string): Promise<unknown> | undefined => this.store.whenSent?.(key);
  readonly whyTooLong = (lease: number): string | undefined =>
    this.breaker.isOpen ? undefined : this.store.whyTooLong?.(lease);

  private readonly store: LockStoreSession;
  private readonly local: LocalLocks;
  private readonly breaker: CircuitBreaker;
  private readonly stored: StoredOwners;
  private readonly timers: SessionTimers;

  constructor(
    store: LockStore,
    private readonly client: LockStoreClient,
  ) {
    this.timers = new SessionTimers(client);
    const { retry } = this.timers;
    this.local = new LocalLocks(client, (owner, grant) => {
      if (this.breaker.isOpen && this.local.onGrant(owner))
        client.granted(owner, { ...grant, degraded: true });
    });
    this.store = store.open({
      ...client,
      granted: (owner, grant) => {
        this.onStoreGrant(owner, grant);
      },
      askAgain: () => {
        if (this.isBack()) client.askAgain();
      },
      reconnected: (concerns) => {
        if (this.isBack()) client.reconnected(concerns);
      },
    });
    this.stored = new StoredOwners(this.store, retry, () => this.breaker.isOpen);
    this.breaker = new CircuitBreaker(
      this.store,
      () => client.now(),
      retry,
      (cause) => {
        client.degraded(true, cause);
        this.askAgainSoon();
      },
      () => {
        this.storeIsBack();
      },
    );
    const { forceRelease, breakHold } = breaksOf(this.store, this.local, this.breaker);
    this.forceRelease = forceRelease;
    this.breakHold = breakHold;
    const reserve = this.store.reserve?.bind(this.store);
    const connections = this.store.connections?.bind(this.store);
    if (connections !== undefined) this.connections = connections;
    if (this.store.board !== undefined) this.board = this.store.board;
    const listKeys = this.store.listKeys?.bind(this.store);
    if (listKeys !== undefined) {
      this.listKeys = (request) =>
        this.breaker.isOpen ? this.local.session.listKeys(request) : listKeys(request);
    }
    const verify = this.store.verify?.bind(this.store);
    if (verify !== undefined) {
      this.verify = async () => {
        if (!this.breaker.isOpen) await this.breaker.watched(NO_KEY, verify);
      };
    }
    if (reserve !== undefined) this.reserve = (request) => this.reserveWhereHeld(request, reserve);
  }

  readonly connections?: () => readonly StoreConnection[];
  readonly listKeys?: (request: ListKeysRequest) => Promise<ListedKeys>;
  readonly verify?: () => Promise<void>;
  /** That of the store, in reach or not: here are only the locks of this process. */
  readonly board?: LockStoreSession['board'];

  get description(): string | undefined {
    return this.store.description;
  }

  get remainingIsBound(): boolean {
    return !this.breaker.isOpen && this.store.remainingIsBound === true;
  }

  get longestUnrenewed(): number | undefined {
    return this.store.longestUnrenewed;
  }

  async start(): Promise<void> {
    const startedAt = this.client.now();
    try {
      await this.store.start();
      this.breaker.onReply(startedAt, CONNECT_ROUND_TRIPS);
    } catch (error) {
      if (isUnreachable(error)) this.breaker.open(error);
      throw error;
    }
  }

  async ask(request: AskRequest): Promise<AskReply> {
    if (this.breaker.isOpen) return await this.askLocally(request);
    const { key, owner } = request;
    if (this.local.has(owner)) {
      // It was served here, and may have been given up in the store: the engine goes on with another one.
      return this.local.cancelled(request);
    }
    const leaseLeft = this.local.leaseLeft(key, request.limit);
    return leaseLeft === undefined ? await this.askStore(request) : heldLocally(request, leaseLeft);
  }

  async cancel(request: OwnerRequest): Promise<void> {
    if (this.local.has(request.owner)) {
      await this.local.cancel(request);
      return;
    }
    this.stored.forget(request.owner);
    this.local.leaveStored(request.key, request.owner);
    await this.stored.end(request, (cancel) => this.store.cancel(cancel));
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    if (this.local.has(request.owner)) {
      if (!this.breaker.isOpen) this.askAgainSoon(); // whoever waited for it goes on in the store
      return this.local.release(request);
    }
    this.local.leaveStored(request.key, request.owner);
    return this.stored.end(request, (release) => this.store.release(release));
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return await renewInParts(
      requests,
      ({ owner }) => this.local.has(owner),
      (isLocal, some) => (isLocal ? this.local.renew(some) : this.renewInStore(some)),
    );
  }

  async inspect(key: string): Promise<StoredLock | null> {
    if (this.breaker.isOpen) return await this.local.session.inspect(key);
    const stored = await this.breaker.watched(key, () => this.store.inspect(key));
    return this.local.leaseLeft(key) === undefined ? stored : await this.local.inspectBeside(key, stored);
  }

  async close(): Promise<void> {
    this.breaker.stop();
    if (!this.breaker.isOpen) await this.stored.sendCancelsOnce();
    this.timers.close();
    await this.store.close();
  }

  private async askStore(request: AskRequest, isSecondTry = false): Promise<AskReply> {
    const { key, owner, wait } = request;
    const sentAt = this.client.now();
    const isNew = this.stored.onAsk(request);
    let reply: AskReply;
    try {
      reply = await this.store.ask(request);
    } catch (error) {
      if (isNew && error instanceof LockStoreError && !error.inDoubt) this.stored.forget(owner);
      if (!isUnreachable(error)) throw this.stored.failureOf(owner, error);
      // The engine asks again only for what is worth it.
      this.breaker.onFailure(error, key, sentAt, isSecondTry || !error.retryable);
      if (this.breaker.isOpen) return await this.askLocally(request);
      // The engine asks again for those who wait.
      if (wait || isSecondTry) throw this.stored.failureOf(owner, error);
      if (error.inDoubt) this.stored.onDoubt(owner);
      await this.breaker.waitForRecovery();
      return await this.askAgain(request);
    }
    this.breaker.onReply(sentAt);
    if (reply.outcome === 'granted') return await this.grantedOnAsking(request, reply, sentAt);
    if (this.stored.isInDoubt(owner)) this.stored.cancel(owner, key);
    else if (reply.outcome !== 'queued') this.stored.forget(owner);
    return reply;
  }

  private async askAgain(request: AskRequest): Promise<AskReply> {
    return this.breaker.isOpen ? await this.askLocally(request) : await this.askStore(request, true);
  }

  private async grantedOnAsking(
    request: AskRequest,
    grant: AskReply & { readonly outcome: 'granted' },
    sentAt: MonotonicMs,
  ): Promise<AskReply> {
    const { key, owner, lease, limit } = request;
    const leaseLeft = this.local.leaseLeft(key, limit);
    if (leaseLeft !== undefined) {
      // Somebody got it here while the answer was on its way.
      if (this.breaker.isOpen) return await this.askLocally(request);
      if (request.wait) this.serveLocally(owner, key);
      else this.stored.cancel(owner, key);
      return heldLocally(request, leaseLeft);
    }
    this.stored.forget(owner);
    this.local.enterStored(request, sentAt + lease, grant);
    return grant;
  }

  private onStoreGrant(owner: OwnerId, grant: PushedGrant): void {
    const request = this.stored.requestOf(owner);
    if (request === undefined) return; // given up, or served here
    if (this.local.leaseLeft(request.key, request.limit) !== undefined) {
      this.serveLocally(owner, request.key);
      this.askAgainSoon();
      return;
    }
    this.stored.forget(owner);
    this.local.enterStored(request, grant.startedAt + grant.lease, grant);
    this.client.granted(owner, grant);
  }

  private async askLocally(request: AskRequest): Promise<AskReply> {
    const { key, owner } = request;
    this.serveLocally(owner, key);
    const reply = await this.local.ask(request);
    if (reply.outcome !== 'granted') return reply;
    // The store is back in this very moment.
    if (!this.breaker.isOpen) return this.local.cancelled(request);
    this.local.onGrant(owner);
    return reply;
  }

  /** From now on the owner is served in this process, and has nothing in the store. */
  private serveLocally(owner: OwnerId, key: string): void {
    const isKnown = this.local.has(owner);
    // It asks, so what it was granted is not in use.
    this.local.leaveStored(key, owner);
    this.local.add(owner, key);
    if (!isKnown && this.stored.requestOf(owner) !== undefined) this.stored.cancel(owner, key);
  }

  /** The connection is there again; answers whether the store is. */
  private isBack(): boolean {
    const isInUse = this.breaker.onReconnect();
    if (isInUse) this.stored.sendCancels();
    return isInUse;
  }

  private storeIsBack(): void {
    // Before anybody asks the store for the same locks.
    this.stored.sendCancels();
    this.local.endWaits();
    this.client.degraded(false);
    this.client.reconnected();
  }

  private async renewInStore(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    const sentAt = this.client.now();
    const replies = await this.store.renew(requests);
    if (!replies.every(isUnreachable)) this.breaker.onReply(sentAt);
    const lost = this.local.onStoreRenewed(requests, replies, sentAt);
    for (const { key, owner } of lost) if (this.stored.isInDoubt(owner)) this.stored.cancel(owner, key);
    return replies;
  }

  private async reserveWhereHeld(request: ReserveRequest, inStore: Reserve): Promise<ReserveReply> {
    if (this.local.has(request.owner)) return await this.local.reserve(request);
    const sentAt = this.client.now();
    const reply = await inStore(request);
    this.breaker.onReply(sentAt);
    this.local.onStoreReserved(request, reply, sentAt);
    return reply;
  }

  private askAgainSoon(): void {
    callAfterwards(() => {
      this.client.askAgain();
    });
  }
}
