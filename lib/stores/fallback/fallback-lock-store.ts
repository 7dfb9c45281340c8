import { callAfterwards } from '../memory/memory-locks.js';
import {
  hideMissing,
  isCutOff,
  PROBE_KEY,
  renewInParts,
  type RenewReplies,
} from '../port/forwarding-session.js';
import {
  LockStoreError,
  type AcquireReply,
  type AcquireRequest,
  type BreakReply,
  type ListedKeys,
  type ListKeysRequest,
  type LockBoard,
  type LockClock,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
  type MonotonicMs,
  type NamedHold,
  type OwnerId,
  type OwnerRequest,
  type PushedGrant,
  type ReleaseReply,
  type RenewRequest,
  type ReserveReply,
  type ReserveRequest,
  type StoreConnection,
  type StoredLock,
} from '../port/lock-store.js';
import { storeFailure } from '../port/store-failure.js';
import { SessionTimers } from '../port/times.js';
import { CircuitBreaker, CONNECT_ROUND_TRIPS, isUnreachable, RETRY_PAUSE } from './circuit-breaker.js';
import { heldLocally, LocalLocks } from './local-locks.js';

/** How far the tokens of the store are raised above the clock and local holds at first, µs: some begin until the reply. */
const TOKENS_AHEAD = 100_000;

/** Locks of another store, or of this process only while that store is unreachable. */
export class FallbackLockStore implements LockStore {
  constructor(private readonly store: LockStore) {}

  get name(): string {
    return this.store.name;
  }

  get place(): string | undefined {
    return this.store.place;
  }

  get clock(): LockClock | undefined {
    return this.store.clock;
  }

  open(client: LockStoreClient): LockStoreSession {
    return new FallbackSession(this.store, client);
  }
}

/** The session of the store. `FallbackSession` hides the methods that it lacks. */
type ForwardedSession = LockStoreSession &
  Required<Pick<LockStoreSession, 'reserve' | 'listKeys' | 'verify' | 'connections'>>;

/**
 * One client of a store that may become unreachable. Each owner is served either by the store or by this process: a
 * lock granted by the store ends in the store, and one granted locally ends locally.
 */
class FallbackSession implements LockStoreSession {
  private readonly store: ForwardedSession;
  private readonly local: LocalLocks;
  private readonly breaker: CircuitBreaker;
  private readonly timers: SessionTimers;
  /** The last requests of owners that may be in the store's queue, or have a grant that has not arrived. */
  private readonly asking = new Map<OwnerId, AcquireRequest>();

  constructor(
    store: LockStore,
    private readonly client: LockStoreClient,
  ) {
    this.timers = new SessionTimers(client);
    this.local = new LocalLocks(client, (owner, grant) => {
      if (this.breaker.isOpen) client.granted(owner, { ...grant, local: true });
      // The store has just recovered.
      else this.local.withdraw(owner);
    });
    const opened = store.open({
      ...client,
      granted: (owner, grant) => this.onStoreGrant(owner, grant),
      // Only messages are back: the connection for requests may be failing at this moment.
      pollNow: () => {
        if (!this.breaker.isOpen) client.pollNow();
      },
      reconnected: (concerns) => {
        if (this.breaker.onReconnect()) client.reconnected(concerns);
      },
      lastLocalToken: () => this.local.tokens.last,
    });
    this.store = opened as ForwardedSession;
    this.breaker = new CircuitBreaker(
      opened,
      () => client.now(),
      this.timers.retry,
      (cause) => {
        client.locksLocally(true, cause);
        this.pollSoon();
      },
      () => this.onRecovery(),
      () => this.raiseStoreTokens(),
    );
    hideMissing(this, [opened], ['reserve', 'listKeys', 'verify', 'connections']);
  }

  get description(): string | undefined {
    return this.store.description;
  }

  get board(): LockBoard | undefined {
    return this.store.board;
  }

  get longestUnrenewed(): number | undefined {
    return this.store.longestUnrenewed;
  }

  get remainingIsBound(): boolean {
    return !this.breaker.isOpen && this.store.remainingIsBound === true;
  }

  whyTooLong(lease: number): string | undefined {
    return this.breaker.isOpen ? undefined : this.store.whyTooLong?.(lease);
  }

  /** The same while the store is unreachable: a call must not depend on that. */
  whyUnsupported(call: { readonly fair: boolean; readonly limit: number }): string | undefined {
    return this.store.whyUnsupported?.(call);
  }

  connections(): readonly StoreConnection[] {
    return this.store.connections();
  }

  get isCutOff(): boolean {
    return isCutOff(this.store);
  }

  whenSent(key: string): Promise<unknown> | undefined {
    return this.store.whenSent?.(key);
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
    const attempt = (): Promise<void> => this.raiseStoreTokens();
    // A part of the store may be unreachable, which must not make all locks local.
    await attempt().catch(() => {
      const until = Infinity as MonotonicMs;
      void this.timers.retry.completeLater({ attempt, until: () => until, pause: RETRY_PAUSE });
    });
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    if (this.breaker.isOpen) return await this.askLocally(request);
    const { key, owner } = request;
    // It was served locally, and may have been withdrawn from the store: the engine continues with a new owner.
    if (this.local.has(owner)) return this.local.cancelled(request);
    const leaseLeft = this.local.leaseLeft(key, request.limit);
    return leaseLeft === undefined ? await this.askStore(request) : heldLocally(request, leaseLeft);
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    if (this.local.has(request.owner)) {
      if (!this.breaker.isOpen) this.pollSoon(); // its waiters continue in the store
      return this.local.release(request);
    }
    this.asking.delete(request.owner);
    this.local.leaveStored(request.key, request.owner);
    return this.store.release(request);
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return await renewInParts(
      requests,
      ({ owner }) => this.local.has(owner),
      (isLocal, some) => (isLocal ? this.local.renew(some) : this.renewInStore(some)),
    );
  }

  async reserve(request: ReserveRequest): Promise<ReserveReply> {
    if (this.local.has(request.owner)) return await this.local.reserve(request);
    const sentAt = this.client.now();
    const reply = await this.store.reserve(request);
    this.breaker.onReply(sentAt);
    this.local.onStoreReserved(request, reply, sentAt);
    return reply;
  }

  async inspect(key: string): Promise<StoredLock | null> {
    if (this.breaker.isOpen) return await this.local.session.inspect(key);
    const stored = await this.breaker.watched(key, () => this.store.inspect(key));
    // A local hold may outlast the outage.
    if (stored !== null || this.local.leaseLeft(key) === undefined) return stored;
    return await this.local.session.inspect(key);
  }

  async listKeys(request: ListKeysRequest): Promise<ListedKeys> {
    return await (this.breaker.isOpen ? this.local.session.listKeys(request) : this.store.listKeys(request));
  }

  async verify(): Promise<void> {
    if (!this.breaker.isOpen) await this.breaker.watched(PROBE_KEY, () => this.store.verify());
  }

  /** Holds in the store are broken there first: if that fails, nothing has changed here either. */
  async breakHold(key: string, hold?: NamedHold): Promise<BreakReply> {
    const { local } = this;
    const isLocal = hold !== undefined && local.holdsOf(key, true, hold).length > 0;
    const isUnknown = this.breaker.isOpen && local.holdsOf(key, false, hold).length === 0;
    if (isLocal || isUnknown) return local.breakHold(key, hold);
    const reply = await this.store.breakHold(key, hold);
    const here = hold === undefined ? local.breakHold(key) : 'free';
    if (reply === 'broken' || here === 'broken') return 'broken';
    return local.leaseLeft(key) === undefined ? reply : 'held-by-others';
  }

  async close(): Promise<void> {
    this.breaker.stop();
    // Owners to be cancelled in the store are cancelled once more.
    this.timers.retry.stop();
    if (!this.breaker.isOpen) await this.timers.retry.idle();
    this.timers.close();
    await this.store.close();
  }

  private async askStore(request: AcquireRequest, isSecondTry = false): Promise<AcquireReply> {
    const { key, owner, wait } = request;
    const sentAt = this.client.now();
    const isNew = !this.asking.has(owner);
    // Before the request is sent: a grant can be pushed before the reply.
    this.asking.set(owner, request);
    let reply: AcquireReply;
    try {
      reply = await this.store.acquire(request);
    } catch (error) {
      if (isNew && error instanceof LockStoreError && !error.inDoubt) this.asking.delete(owner);
      if (!isUnreachable(error)) throw error;
      // The engine does not retry other errors.
      this.breaker.onFailure(error, key, sentAt, isSecondTry || !error.retryable);
      if (this.breaker.isOpen) return await this.askLocally(request);
      // For waiters, the engine retries.
      if (wait || isSecondTry) throw error;
      if (!(await this.breaker.hasRecovered(key))) return await this.askLocally(request);
      // The engine withdraws the owner, and repeats the request under another one.
      if (error.inDoubt) throw error;
      return await this.askStore(request, true);
    }
    this.breaker.onReply(sentAt);
    if (reply.outcome === 'granted') return await this.onStoreReply(request, reply, sentAt);
    if (reply.outcome !== 'queued') this.asking.delete(owner);
    return reply;
  }

  private async onStoreReply(
    request: AcquireRequest,
    grant: AcquireReply & { readonly outcome: 'granted' },
    sentAt: MonotonicMs,
  ): Promise<AcquireReply> {
    const { key, owner, lease, limit } = request;
    const leaseLeft = this.local.leaseLeft(key, limit);
    if (leaseLeft !== undefined) {
      // The lock was granted locally to another owner while the reply was in flight.
      if (this.breaker.isOpen) return await this.askLocally(request);
      if (request.wait) this.serveLocally(owner, key);
      else this.cancelInStore(owner, key);
      return heldLocally(request, leaseLeft);
    }
    this.asking.delete(owner);
    this.local.enterStored(request, sentAt + lease, grant);
    return grant;
  }

  private onStoreGrant(owner: OwnerId, grant: PushedGrant): void {
    const request = this.asking.get(owner);
    if (request === undefined) return; // withdrawn, or served here
    if (this.local.leaseLeft(request.key, request.limit) !== undefined) {
      this.serveLocally(owner, request.key);
      this.pollSoon();
      return;
    }
    this.asking.delete(owner);
    this.local.enterStored(request, grant.startedAt + grant.lease, grant);
    this.client.granted(owner, grant);
  }

  private async askLocally(request: AcquireRequest): Promise<AcquireReply> {
    const { key, owner } = request;
    this.serveLocally(owner, key);
    const reply = await this.local.acquire(request);
    if (reply.outcome !== 'granted') return reply;
    // The store has just recovered.
    return this.breaker.isOpen ? reply : this.local.cancelled(request);
  }

  /** From now on the owner is served in this process, and has no entry in the store. */
  private serveLocally(owner: OwnerId, key: string): void {
    const isKnown = this.local.has(owner);
    // It makes a request, so it does not use an earlier grant.
    this.local.leaveStored(key, owner);
    this.local.add(owner, key);
    if (!isKnown && this.asking.has(owner)) this.cancelInStore(owner, key);
  }

  /**
   * Before the store is used, its later tokens have to be larger than those of local holds: of this process, and of an
   * earlier one that it replaces. Those count from the clock. Rejects if repeating it can help.
   */
  private async raiseStoreTokens(): Promise<void> {
    const { tokens, keys } = this.local;
    let floor = -1;
    for (let ahead = TOKENS_AHEAD; floor < tokens.last || keys.size > 0; ahead *= 2) {
      floor = Math.max(tokens.last, Date.now() * 1_000) + ahead;
      const raised = [...keys];
      try {
        await this.store.raiseTokens?.(floor, [PROBE_KEY, ...raised]);
      } catch (error) {
        if (storeFailure(error).retryable) throw error;
      }
      // Others may have been granted meanwhile.
      for (const key of raised) keys.delete(key);
    }
  }

  private onRecovery(): void {
    // Cancels owners in the store, before any caller requests the same locks there.
    this.timers.retry.retryNow();
    this.local.endWaits();
    this.client.locksLocally(false);
    this.client.reconnected();
  }

  private async renewInStore(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    const sentAt = this.client.now();
    const replies = await this.store.renew(requests);
    if (!replies.every(isUnreachable)) this.breaker.onReply(sentAt);
    this.local.onStoreRenewed(requests, replies, sentAt);
    return replies;
  }

  private pollSoon(): void {
    callAfterwards(() => this.client.pollNow());
  }

  /** Cancels the owner in the store until the store confirms it; now, or when the store is back. */
  private cancelInStore(owner: OwnerId, key: string): void {
    this.asking.delete(owner);
    const attempt = async (): Promise<void> => {
      if (this.breaker.isOpen) throw new Error('the store is unreachable');
      try {
        await this.store.release({ key, owner, wasGranted: false, inDoubt: true });
      } catch (error) {
        // A request that can't succeed is not repeated.
        if (storeFailure(error).retryable) throw error;
      }
    };
    const until = Infinity as MonotonicMs;
    void this.timers.retry.complete({ attempt, until: () => until, pause: RETRY_PAUSE });
  }
}
