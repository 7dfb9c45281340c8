import type {
  AskReply,
  AskRequest,
  LockStoreClient,
  MonotonicMs,
  NamedHold,
  OwnerId,
  OwnerRequest,
  PushedGrant,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  StoredLock,
} from '../port/lock-store.js';
import { isNamed, type RenewReplies } from '../port/forwarding-session.js';
import { MemoryLocks, raiseTokens } from '../memory/memory-locks.js';
import { MemorySession } from '../memory/memory-session.js';

/** An owner that is served in this process. */
interface LocalOwner {
  readonly key: string;
  /** Whether it has not been told of a grant. */
  waits: boolean;
}

/**
 * The locks that are taken in this process only. What it holds in the store is entered here, too, so that nobody gets it
 * here beside that.
 */
export class LocalLocks {
  readonly session: MemorySession;
  private readonly locks = new MemoryLocks();
  /** Whoever holds anything here and is none of them has it from the store. */
  private readonly owners = new Map<OwnerId, LocalOwner>();

  /** @param granted takes the grants that go to owners who wait */
  constructor(
    private readonly client: LockStoreClient,
    granted: (owner: OwnerId, grant: PushedGrant) => void,
  ) {
    this.session = new MemorySession(this.locks, { ...client, granted });
  }

  /** Whether that owner is served here. Once it is, it stays so: in the store it may have been given up. */
  has(owner: OwnerId): boolean {
    return this.owners.has(owner);
  }

  /** The owner asks here, and was told of no grant. */
  add(owner: OwnerId, key: string): void {
    this.owners.set(owner, { key, waits: true });
  }

  /** ms left of the local holds of a key, without those that one with that limit in the store may be beside. */
  leaseLeft(key: string, limit = 1): number | undefined {
    const now = this.client.now();
    this.locks.sweep(now);
    let end: number | undefined;
    for (const hold of this.locks.holdersOf(key).values()) {
      const isBeside = limit === Infinity && hold.limit === Infinity;
      if (this.owners.has(hold.owner) && !isBeside) end = Math.max(hold.expiresAt, end ?? 0);
    }
    return end === undefined ? undefined : end - now;
  }

  /** Whether that is a hold of this process only. */
  hasHold(key: string, hold: NamedHold): boolean {
    this.locks.sweep(this.client.now());
    return [...this.locks.holdersOf(key).values()].some((each) => {
      return this.owners.has(each.owner) && isNamed(each, hold);
    });
  }

  async ask(request: AskRequest): Promise<AskReply> {
    const reply = await this.session.ask(request);
    // Whoever wants to wait, and can't, is cancelled by the engine.
    const isOver = reply.outcome === 'busy' || (reply.outcome === 'conflict' && !request.wait);
    if (isOver) this.forget(request.owner);
    return reply.outcome === 'granted' ? { ...reply, degraded: true } : reply;
  }

  /** Notes that a grant reaches the owner; false if nobody waits for it any more. */
  onGrant(owner: OwnerId): boolean {
    const known = this.owners.get(owner);
    if (known?.waits !== true) return false;
    known.waits = false;
    return true;
  }

  /** Holds of this process go on beside those that the store has granted since it is back; readers, as a rule. */
  async inspectBeside(key: string, stored: StoredLock | null): Promise<StoredLock | null> {
    const local = await this.session.inspect(key);
    if (stored === null || local === null) return stored ?? local;
    const known = new Set(stored.holders.map(({ owner }) => owner));
    const others = local.holders.filter(({ owner }) => this.has(owner as OwnerId) && !known.has(owner));
    const holders = [...stored.holders, ...others];
    return { ...stored, holders: holders.sort((one, other) => (one.token ?? 0) - (other.token ?? 0)) };
  }

  async reserve(request: ReserveRequest): Promise<ReserveReply> {
    const reply = await this.session.reserve(request);
    if (reply.outcome !== 'reserved') this.forget(request.owner);
    return reply;
  }

  async renew(requests: readonly RenewRequest[]): Promise<readonly RenewReply[]> {
    const replies = await this.session.renew(requests);
    requests.forEach(({ owner }, index) => {
      // Lost, and nobody gives it back.
      if (replies[index] !== 'renewed') this.forget(owner);
    });
    return replies;
  }

  release(request: OwnerRequest): Promise<ReleaseReply> {
    this.forget(request.owner);
    return this.session.release(request);
  }

  cancel(request: OwnerRequest): Promise<void> {
    this.forget(request.owner);
    return this.session.cancel(request);
  }

  /** Ends a request that has to be made under another owner. */
  cancelled({ key, owner, wait }: AskRequest): AskReply {
    this.takeBack(owner, key);
    // Whoever wants to wait is cancelled by the engine.
    if (!wait) this.forget(owner);
    return { outcome: 'cancelled' };
  }

  /** Takes back all who wait. */
  endWaits(): void {
    for (const [owner, { key, waits }] of this.owners) if (waits) this.takeBack(owner, key);
  }

  /** The store has granted that. */
  enterStored(
    { key, owner, limit, label }: AskRequest,
    until: number,
    { token, tokens = 1 }: Pick<PushedGrant, 'token' | 'tokens'>,
  ): void {
    const { client, locks } = this;
    const now = client.now();
    locks.sweep(now);
    for (const hold of [...locks.holdersOf(key).values()]) {
      if (hold.owner === owner) locks.drop(hold);
      else if (limit === 1 || hold.limit !== limit) this.leaveStored(key, hold.owner);
    }
    locks.grant(key, { owner, client, tokens: 1, limit, label }, until - now, false);
    raiseTokens(token + tokens - 1);
  }

  /** Answers which of the holds the store no longer has. */
  onStoreRenewed(
    requests: readonly RenewRequest[],
    replies: RenewReplies,
    sentAt: MonotonicMs,
  ): readonly RenewRequest[] {
    return requests.filter((request, index) => {
      const reply = replies[index];
      if (reply === 'renewed') this.extendStored(request, sentAt);
      if (reply !== 'gone' && reply !== 'taken') return false;
      this.leaveStored(request.key, request.owner);
      return true;
    });
  }

  onStoreReserved(request: ReserveRequest, reply: ReserveReply, sentAt: MonotonicMs): void {
    if (reply.outcome === 'reserved') {
      this.extendStored(request, sentAt);
      raiseTokens(reply.token + request.tokens - 1);
    } else this.leaveStored(request.key, request.owner);
  }

  /** The hold in the store is over: whoever waits for it here gets the lock. */
  leaveStored(key: string, owner: OwnerId): void {
    const isStored = this.locks.holdersOf(key).has(owner) && !this.has(owner);
    if (isStored) this.takeBack(owner, key);
  }

  private extendStored({ key, owner, lease, exactly = false }: RenewRequest, sentAt: MonotonicMs): void {
    const hold = this.has(owner) ? undefined : this.locks.holdersOf(key).get(owner);
    const until = sentAt + lease;
    if (hold !== undefined && (exactly || until > hold.expiresAt)) this.locks.prolong(hold, until);
  }

  /** Nobody asks for that owner any more. */
  private forget(owner: OwnerId): void {
    this.owners.delete(owner);
  }

  /** Takes away whatever the owner has here. */
  private takeBack(owner: OwnerId, key: string): void {
    void this.session.cancel({ key, owner, inDoubt: false });
  }
}

/** The reply while a lock is held in this process; the store is asked when that is over. */
export function heldLocally({ wait }: AskRequest, holderLeaseLeft: number): AskReply {
  return { outcome: wait ? 'queued' : 'busy', holderLeaseLeft };
}
