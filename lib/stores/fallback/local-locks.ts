import type {
  AskReply,
  AskRequest,
  LockStoreClient,
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
import { MemoryLocks } from '../memory/memory-locks.js';
import { MemorySession } from '../memory/memory-session.js';
import type { RemoteHold } from './remote-hold.js';

/** An owner that is served in this process. */
interface LocalOwner {
  readonly key: string;
  /** Whether it has not been told of a grant. */
  waits: boolean;
}

/** The locks that are taken in this process only. */
export class LocalLocks {
  readonly session: MemorySession;
  private readonly locks = new MemoryLocks();
  private readonly owners = new Map<OwnerId, LocalOwner>();
  /** Owners of holds in the store that are entered here, so that nobody gets these locks beside them. */
  private readonly blocking = new Set<OwnerId>();

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

  /** Whether the hold of that owner in the store is entered here. */
  isBlocking(owner: OwnerId): boolean {
    return this.blocking.has(owner);
  }

  /** Enters a hold in the store: nobody here gets that lock, or more of it than is left beside that share. */
  block({ key, owner, until, limit, label }: RemoteHold): void {
    this.blocking.add(owner);
    const lease = until - this.client.now();
    const terms = { lease, claimLease: lease, wait: false, callers: 1, tokens: 1, contended: false };
    void this.session.ask({ key, owner, limit, label, ...terms });
    void this.session.renew([{ key, owner, lease, exactly: true }]);
  }

  /** The hold in the store is over: whoever waits for it here gets the lock. */
  unblock(owner: OwnerId, key: string): void {
    if (this.blocking.delete(owner)) this.takeBack(owner, key);
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
