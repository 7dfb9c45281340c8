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
} from '../port/lock-store.js';
import { raiseTokens, SOON } from '../memory/memory-locks.js';
import { InDoubtOwners } from './in-doubt-owners.js';
import { heldHere, LocalLocks } from './local-locks.js';
import { renewBoth, type Renewals } from './renewals.js';
import { isUnreachable, CircuitBreaker, WAYS } from './circuit-breaker.js';
import { wishOf, type LockSpec } from './remote-hold.js';
import { RemoteHolds } from './remote-holds.js';
import { PendingCancels } from './pending-cancels.js';

/**
 * One client of a store that may be away. Who is served in this process is decided owner by owner: what the store has
 * granted stays with the store, and what was granted here ends here.
 */
export class FallbackSession implements LockStoreSession {
  readonly reserve?: (request: ReserveRequest) => Promise<ReserveReply>;

  private readonly store: LockStoreSession;
  private readonly local: LocalLocks;
  private readonly outage: CircuitBreaker;
  private readonly withdrawals: PendingCancels;
  private readonly holds: RemoteHolds;
  /** Owners that may have a place in the store's queue, or a grant that nobody has heard of. */
  private readonly places = new Map<OwnerId, LockSpec>();
  private readonly doubts = new InDoubtOwners();

  constructor(
    store: LockStore,
    private readonly client: LockStoreClient,
  ) {
    this.local = new LocalLocks(client, (owner, grant) => {
      if (this.outage.isOn && this.local.handOut(owner)) client.granted(owner, { ...grant, degraded: true });
    });
    this.holds = new RemoteHolds(this.local, () => client.now());
    this.store = store.open({
      ...client,
      granted: (owner, grant) => {
        this.grantedByStore(owner, grant);
      },
      askAgain: () => {
        if (this.isBack()) client.askAgain();
      },
      reconnected: (concerns) => {
        if (this.isBack()) client.reconnected(concerns);
      },
    });
    this.withdrawals = new PendingCancels(this.store);
    this.outage = new CircuitBreaker(
      this.store,
      () => client.now(),
      (cause) => {
        client.degraded(true, cause);
        this.askAgainSoon();
      },
      () => {
        this.storeIsBack();
      },
    );
    const reserve = this.store.reserve?.bind(this.store);
    if (reserve !== undefined) this.reserve = (request) => this.reserveWhereHeld(request, reserve);
  }

  get description(): string | undefined {
    return this.store.description;
  }

  async start(): Promise<void> {
    const startedAt = this.client.now();
    try {
      await this.store.start();
      this.outage.answered(startedAt, WAYS);
    } catch (error) {
      if (isUnreachable(error)) this.outage.begin(error);
      throw error;
    }
  }

  async ask(request: AskRequest): Promise<AskReply> {
    if (this.outage.isOn) return await this.askHere(request);
    const { key, owner } = request;
    if (this.local.has(owner)) {
      // It was served here, and may have been given up in the store: the engine goes on with another one.
      return this.local.cancelled(request);
    }
    const leaseLeft = this.local.leaseLeft(key, request.limit);
    return leaseLeft === undefined ? await this.askStore(request) : heldHere(request, leaseLeft);
  }

  async cancel(request: OwnerRequest): Promise<void> {
    if (this.local.has(request.owner)) {
      await this.local.cancel(request);
      return;
    }
    this.places.delete(request.owner);
    this.holds.ended(request.key, request.owner);
    await this.doubts.leave(request, (farewell) => this.store.cancel(farewell), this.withdraw);
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    if (this.local.has(request.owner)) {
      if (!this.outage.isOn) this.askAgainSoon(); // whoever waited for it goes on in the store
      return this.local.release(request);
    }
    this.holds.ended(request.key, request.owner);
    return this.doubts.leave(request, (farewell) => this.store.release(farewell), this.withdraw);
  }

  async renew(requests: readonly RenewRequest[]): Promise<Renewals> {
    const isHere = ({ owner }: RenewRequest): boolean => this.local.has(owner);
    if (!requests.some(isHere)) return await this.renewInStore(requests);
    return await renewBoth(
      requests,
      isHere,
      (here) => this.local.renew(here),
      (there) => this.renewInStore(there),
    );
  }

  async inspect(key: string): Promise<StoredLock | null> {
    if (this.outage.isOn) {
      this.holds.keep(key);
      return await this.local.session.inspect(key);
    }
    const stored = await this.store.inspect(key);
    return this.local.leaseLeft(key) === undefined ? stored : await this.local.inspectBeside(key, stored);
  }

  async forceRelease(key: string): Promise<boolean> {
    if (this.outage.isOn) {
      this.holds.keep(key);
      return await this.local.session.forceRelease(key);
    }
    const wasHeldHere =
      this.local.leaseLeft(key) !== undefined && (await this.local.session.forceRelease(key));
    return (await this.store.forceRelease(key)) || wasHeldHere;
  }

  async close(): Promise<void> {
    this.outage.stop();
    if (!this.outage.isOn) await this.withdrawals.begin();
    this.withdrawals.stop();
    await this.store.close();
  }

  private async askStore(request: AskRequest, isSecondTry = false): Promise<AskReply> {
    const { key, owner, wait } = request;
    const sentAt = this.client.now();
    const isNew = !this.places.has(owner);
    // Before it is sent: a grant can be pushed before the answer is here.
    this.places.set(owner, wishOf(request));
    let reply: AskReply;
    try {
      reply = await this.store.ask(request);
    } catch (error) {
      if (isNew && error instanceof LockStoreError && !error.inDoubt) this.places.delete(owner);
      if (!isUnreachable(error)) throw this.doubts.failureOf(owner, error);
      // The engine asks again only for what is worth it.
      this.outage.met(error, key, sentAt, isSecondTry || !error.retryable);
      if (this.outage.isOn) return await this.askHere(request);
      // The engine asks again for those who wait.
      if (wait || isSecondTry) throw this.doubts.failureOf(owner, error);
      if (error.inDoubt) this.doubts.add(owner);
      return await this.tryAgain(request);
    }
    this.outage.answered(sentAt);
    if (reply.outcome === 'granted') return await this.grantedOnAsking(request, reply, sentAt);
    if (this.doubts.has(owner)) this.withdraw(owner, key);
    else if (reply.outcome !== 'queued') this.places.delete(owner);
    return reply;
  }

  private async tryAgain(request: AskRequest): Promise<AskReply> {
    await this.outage.grace();
    return this.outage.isOn ? await this.askHere(request) : await this.askStore(request, true);
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
      if (this.outage.isOn) return await this.askHere(request);
      if (request.wait) this.serveHere(owner, key);
      else this.withdraw(owner, key);
      return heldHere(request, leaseLeft);
    }
    this.places.delete(owner);
    this.holds.began(request, owner, sentAt + lease, grant);
    return grant;
  }

  private grantedByStore(owner: OwnerId, grant: PushedGrant): void {
    const wish = this.places.get(owner);
    if (wish === undefined) return; // given up, or served here
    if (this.local.leaseLeft(wish.key, wish.limit) !== undefined) {
      this.serveHere(owner, wish.key);
      this.askAgainSoon();
      return;
    }
    this.places.delete(owner);
    this.holds.began(wish, owner, grant.startedAt + grant.lease, grant);
    this.client.granted(owner, grant);
  }

  private async askHere(request: AskRequest): Promise<AskReply> {
    const { key, owner } = request;
    this.serveHere(owner, key);
    this.holds.keep(key);
    const reply = await this.local.ask(request);
    if (reply.outcome !== 'granted') return reply;
    // The store is back in this very moment.
    if (!this.outage.isOn) return this.local.cancelled(request);
    this.local.handOut(owner);
    return reply;
  }

  /** From now on the owner is served in this process, and has nothing in the store. */
  private serveHere(owner: OwnerId, key: string): void {
    const isKnown = this.local.has(owner);
    this.local.add(owner, key);
    if (isKnown) return;
    // It asks, so what it was granted is not in use.
    this.holds.ended(key, owner);
    if (this.places.has(owner)) this.withdraw(owner, key);
  }

  /** Sees to it that the store has nothing of the owner. */
  private readonly withdraw = (owner: OwnerId, key: string): void => {
    this.places.delete(owner);
    this.doubts.remove(owner);
    this.withdrawals.add(owner, key);
    if (!this.outage.isOn) void this.withdrawals.begin();
  };

  /** The connection is there again; answers whether the store is. */
  private isBack(): boolean {
    const isInUse = this.outage.reconnected();
    if (isInUse) void this.withdrawals.begin();
    return isInUse;
  }

  private storeIsBack(): void {
    // Before anybody asks the store for the same locks.
    void this.withdrawals.begin();
    this.local.endWaits();
    this.client.degraded(false);
    this.client.reconnected();
  }

  private async renewInStore(requests: readonly RenewRequest[]): Promise<Renewals> {
    const sentAt = this.client.now();
    const replies = await this.store.renew(requests);
    if (!replies.every(isUnreachable)) this.outage.answered(sentAt);
    const lost = this.holds.renewed(requests, replies, sentAt);
    for (const { key, owner } of lost) if (this.doubts.has(owner)) this.withdraw(owner, key);
    return replies;
  }

  private async reserveWhereHeld(
    request: ReserveRequest,
    reserveInStore: (request: ReserveRequest) => PromiseLike<ReserveReply>,
  ): Promise<ReserveReply> {
    const { key, owner, lease, tokens } = request;
    if (this.local.has(owner)) return await this.local.reserve(request);
    const sentAt = this.client.now();
    const reply = await reserveInStore(request);
    this.outage.answered(sentAt);
    if (reply.outcome === 'reserved') {
      this.holds.prolonged(request, sentAt + lease);
      raiseTokens(reply.token + tokens - 1);
    } else this.holds.ended(key, owner);
    return reply;
  }

  private askAgainSoon(): void {
    // Like a message: after the call that caused it.
    void SOON.then(() => {
      this.client.askAgain();
    });
  }
}
