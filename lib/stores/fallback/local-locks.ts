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
  /** Owners of the store's holds that everybody here is kept from. */
  private readonly keptFrom = new Set<OwnerId>();

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

  /** The owner asks here, and has nothing that it was told of. */
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
    // Whoever wants to wait, and can't, is taken back.
    const isOver = reply.outcome === 'busy' || (reply.outcome === 'conflict' && !request.wait);
    if (isOver) this.forget(request.owner);
    return reply.outcome === 'granted' ? { ...reply, degraded: true } : reply;
  }

  /** Notes that a grant reaches the owner; false if nobody waits for it any more. */
  handOut(owner: OwnerId): boolean {
    const known = this.owners.get(owner);
    if (known?.waits !== true) return false;
    known.waits = false;
    return true;
  }

  /** Holds of this process go on beside those that the store has granted since it is back; readers, as a rule. */
  async inspectBeside(key: string, stored: StoredLock | null): Promise<StoredLock | null> {
    const here = await this.session.inspect(key);
    if (stored === null || here === null) return stored ?? here;
    const known = new Set(stored.holders.map(({ owner }) => owner));
    const others = here.holders.filter(({ owner }) => this.has(owner as OwnerId) && !known.has(owner));
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

  /** The request is to be made under another name. */
  cancelled({ key, owner, wait }: AskRequest): AskReply {
    this.takeBack(owner, key);
    // Whoever wants to wait takes the owner back.
    if (!wait) this.forget(owner);
    return { outcome: 'cancelled' };
  }

  /** Nobody asks for that owner any more. */
  forget(owner: OwnerId): void {
    this.owners.delete(owner);
  }

  /** Takes away whatever the owner has here. */
  takeBack(owner: OwnerId, key: string): void {
    void this.session.cancel({ key, owner, inDoubt: false });
  }

  /** Takes back all who wait. */
  endWaits(): void {
    for (const [owner, { key, waits }] of this.owners) if (waits) this.takeBack(owner, key);
  }

  isKeptFrom(owner: OwnerId): boolean {
    return this.keptFrom.has(owner);
  }

  /** Keeps everybody here from a lock that this process holds in the store, or from the share that it has of it. */
  keepFrom({ key, owner, until, limit, label }: RemoteHold): void {
    this.keptFrom.add(owner);
    const lease = until - this.client.now();
    const terms = { lease, claimLease: lease, wait: false, callers: 1, tokens: 1, contended: false };
    void this.session.ask({ key, owner, limit, label, ...terms });
    void this.session.renew([{ key, owner, lease, exactly: true }]);
  }

  /** The store's hold is over: whoever waits for it here gets the lock. */
  letIn(owner: OwnerId, key: string): void {
    if (this.keptFrom.delete(owner)) this.takeBack(owner, key);
  }
}

/** The lock is held in this process; the store is asked when that is over. */
export function heldHere({ wait }: AskRequest, holderLeaseLeft: number): AskReply {
  return { outcome: wait ? 'queued' : 'busy', holderLeaseLeft };
}
