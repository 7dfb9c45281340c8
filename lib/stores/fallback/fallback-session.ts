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
  type RenewReply,
  type RenewRequest,
  type ReserveReply,
  type ReserveRequest,
  type StoredHold,
} from '../lock-store.js';
import { outgrow } from '../memory/memory-locks.js';
import { LocalLocks } from './local-locks.js';
import { isUnreachable, Outage } from './outage.js';
import { StoreHolds } from './store-holds.js';
import { Withdrawals } from './withdrawals.js';

type Renewals = readonly (RenewReply | LockStoreError)[];

/**
 * One client of a store that may be away. Who is served in this process is decided owner by owner: what the store has
 * granted stays with the store, and what was granted here ends here.
 */
export class FallbackSession implements LockStoreSession {
  readonly reserve?: (request: ReserveRequest) => Promise<ReserveReply>;

  private readonly store: LockStoreSession;
  private readonly local: LocalLocks;
  private readonly outage: Outage;
  private readonly withdrawals: Withdrawals;
  private readonly holds = new StoreHolds();
  /** Owners that may have a place in the store's queue, or a grant that nobody has heard of. */
  private readonly places = new Map<OwnerId, string>();

  constructor(
    store: LockStore,
    private readonly client: LockStoreClient,
  ) {
    this.local = new LocalLocks(client, (owner, grant) => {
      if (this.outage.isOn && this.local.handOut(owner)) client.granted(owner, { ...grant, degraded: true });
    });
    this.store = store.open({
      ...client,
      granted: (owner, grant) => {
        this.grantedByStore(owner, grant);
      },
      askAgain: () => {
        this.outage.reconnected();
        if (!this.outage.isOn) client.askAgain();
      },
    });
    this.withdrawals = new Withdrawals(this.store);
    this.outage = new Outage(
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
    try {
      await this.store.start();
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
      this.local.takeBack(owner, key);
      return { outcome: 'cancelled' };
    }
    const leaseLeft = this.local.leaseLeft(key);
    return leaseLeft === undefined ? await this.askStore(request) : heldHere(request, leaseLeft);
  }

  async cancel(request: OwnerRequest): Promise<void> {
    if (this.local.has(request.owner)) {
      await this.local.cancel(request);
      return;
    }
    this.places.delete(request.owner);
    this.endStoreHold(request.key, request.owner);
    await this.store.cancel(request);
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    if (this.local.has(request.owner)) {
      if (!this.outage.isOn) this.askAgainSoon(); // whoever waited for it goes on in the store
      return this.local.release(request);
    }
    this.endStoreHold(request.key, request.owner);
    return this.store.release(request);
  }

  async renew(requests: readonly RenewRequest[]): Promise<Renewals> {
    const here = requests.filter(({ owner }) => this.local.has(owner));
    if (here.length === 0) return await this.renewInStore(requests);
    const there = requests.filter(({ owner }) => !this.local.has(owner));
    const [local, stored] = await Promise.all([
      this.local.session.renew(here),
      there.length === 0
        ? []
        : this.renewInStore(there).catch((error: unknown) => there.map(() => asFailure(error))),
    ]);
    here.forEach(({ owner }, index) => {
      if (local[index] !== 'renewed') this.local.forget(owner);
    });
    const replies = new Map<RenewRequest, RenewReply | LockStoreError | undefined>();
    here.forEach((request, index) => replies.set(request, local[index]));
    there.forEach((request, index) => replies.set(request, stored[index]));
    return requests.map((request) => replies.get(request) ?? asFailure('it was not answered'));
  }

  async inspect(key: string): Promise<StoredHold | null> {
    if (this.outage.isOn) {
      this.keepFromStoreHold(key);
      return await this.local.session.inspect(key);
    }
    const stored = await this.store.inspect(key);
    if (stored !== null || this.local.leaseLeft(key) === undefined) return stored;
    return await this.local.session.inspect(key);
  }

  async forceRelease(key: string): Promise<boolean> {
    if (this.outage.isOn) {
      this.keepFromStoreHold(key);
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
    this.places.set(owner, key);
    let reply: AskReply;
    try {
      reply = await this.store.ask(request);
    } catch (error) {
      if (isNew && error instanceof LockStoreError && !error.inDoubt) this.places.delete(owner);
      if (!isUnreachable(error)) throw error;
      this.outage.met(error, key, sentAt, isSecondTry);
      if (this.outage.isOn) return await this.askHere(request);
      // The engine asks again for those who wait.
      if (wait || isSecondTry) throw error;
      await this.outage.grace();
      return this.outage.isOn ? await this.askHere(request) : await this.askStore(request, true);
    }
    this.outage.answered();
    if (reply.outcome === 'granted') return await this.grantedOnAsking(request, reply, sentAt);
    if (reply.outcome !== 'queued') this.places.delete(owner);
    return reply;
  }

  private async grantedOnAsking(
    request: AskRequest,
    grant: AskReply & { readonly outcome: 'granted' },
    sentAt: MonotonicMs,
  ): Promise<AskReply> {
    const { key, owner, lease } = request;
    const leaseLeft = this.local.leaseLeft(key);
    if (leaseLeft !== undefined) {
      // Somebody got it here while the answer was on its way.
      this.serveHere(owner, key);
      return this.outage.isOn ? await this.askHere(request) : heldHere(request, leaseLeft);
    }
    this.beginStoreHold(key, owner, (sentAt + lease) as MonotonicMs, grant);
    return grant;
  }

  private grantedByStore(owner: OwnerId, grant: PushedGrant): void {
    const key = this.places.get(owner);
    if (key === undefined) return; // given up, or served here
    if (this.local.leaseLeft(key) !== undefined) {
      this.serveHere(owner, key);
      this.askAgainSoon();
      return;
    }
    this.beginStoreHold(key, owner, (grant.startedAt + grant.lease) as MonotonicMs, grant);
    this.client.granted(owner, grant);
  }

  private async askHere(request: AskRequest): Promise<AskReply> {
    const { key, owner } = request;
    this.serveHere(owner, key);
    this.keepFromStoreHold(key);
    const reply = await this.local.ask(request);
    if (reply.outcome !== 'granted') return reply;
    if (this.outage.isOn) {
      this.local.handOut(owner);
      return reply;
    }
    // The store is back in this very moment.
    this.local.takeBack(owner, key);
    return { outcome: 'cancelled' };
  }

  /** From now on the owner is served in this process, and has nothing in the store. */
  private serveHere(owner: OwnerId, key: string): void {
    const isKnown = this.local.has(owner);
    this.local.add(owner, key);
    if (isKnown) return;
    // It asks, so what it was granted is not in use.
    this.endStoreHold(key, owner);
    if (!this.places.delete(owner)) return;
    this.withdrawals.add(owner, key);
    if (!this.outage.isOn) void this.withdrawals.begin();
  }

  private storeIsBack(): void {
    // Before anybody asks the store for the same locks.
    void this.withdrawals.begin();
    this.local.endWaits();
    this.client.degraded(false);
    this.askAgainSoon();
  }

  private async renewInStore(requests: readonly RenewRequest[]): Promise<Renewals> {
    const sentAt = this.client.now();
    const replies = await this.store.renew(requests);
    this.outage.answered();
    requests.forEach(({ key, owner, lease }, index) => {
      const reply = replies[index];
      if (reply === 'renewed') this.prolongStoreHold(key, owner, (sentAt + lease) as MonotonicMs);
      else if (reply === 'gone' || reply === 'taken') this.endStoreHold(key, owner);
    });
    return replies;
  }

  private async reserveWhereHeld(
    request: ReserveRequest,
    reserveInStore: (request: ReserveRequest) => Promise<ReserveReply>,
  ): Promise<ReserveReply> {
    const { key, owner, lease, tokens } = request;
    if (this.local.has(owner)) return await this.local.session.reserve(request);
    const sentAt = this.client.now();
    const reply = await reserveInStore(request);
    this.outage.answered();
    if (reply.outcome === 'reserved') {
      this.prolongStoreHold(key, owner, (sentAt + lease) as MonotonicMs);
      outgrow(reply.token + tokens - 1);
    } else this.endStoreHold(key, owner);
    return reply;
  }

  private beginStoreHold(
    key: string,
    owner: OwnerId,
    until: MonotonicMs,
    { token, tokens = 1 }: Pick<PushedGrant, 'token' | 'tokens'>,
  ): void {
    const former = this.holds.of(key, this.client.now());
    if (former !== undefined && former.owner !== owner) this.endStoreHold(key, former.owner);
    this.places.delete(owner);
    this.holds.began({ key, owner, until });
    outgrow(token + tokens - 1);
  }

  private prolongStoreHold(key: string, owner: OwnerId, until: MonotonicMs): void {
    this.holds.renewed(key, owner, until);
    if (this.local.isKeptFrom(owner)) this.keepFromStoreHold(key);
  }

  private endStoreHold(key: string, owner: OwnerId): void {
    this.holds.ended(key, owner);
    this.local.letIn(owner, key);
  }

  private keepFromStoreHold(key: string): void {
    const hold = this.holds.of(key, this.client.now());
    if (hold !== undefined) this.local.keepFrom(hold);
  }

  private askAgainSoon(): void {
    // Like a message: after the call that caused it.
    queueMicrotask(() => {
      this.client.askAgain();
    });
  }
}

/** The lock is held in this process; the store is asked when that is over. */
function heldHere({ wait }: AskRequest, holderLeaseLeft: number): AskReply {
  return { outcome: wait ? 'queued' : 'busy', holderLeaseLeft };
}

function asFailure(error: unknown): LockStoreError {
  if (error instanceof LockStoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new LockStoreError(message, { inDoubt: true, retryable: true, cause: error });
}
