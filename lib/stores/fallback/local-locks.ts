import type {
  AcquireReply,
  AcquireRequest,
  BreakReply,
  LockStoreClient,
  MonotonicMs,
  NamedHold,
  OwnerId,
  OwnerRequest,
  PushedGrant,
  ReleaseReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
} from '../port/lock-store.js';
import { isNamed, type RenewReplies } from '../port/forwarding-session.js';
import { MemoryLocks, tokensOfProcess, type MemoryHold } from '../memory/memory-locks.js';
import { openMemory, type MemorySession } from '../memory/memory-session.js';

/** How many keys to remember for the return of the store. */
const MAX_KEYS = 1_000;

/** Tokens of local holds: they count from the clock, and are larger than those that the store gave this process. */
class LocalTokens {
  /** Of a local hold. */
  last = 0;

  reserve(count: number): number {
    const first = tokensOfProcess.reserve(count);
    this.last = first + count - 1;
    return first;
  }

  /** The store has granted this token. */
  raise(token: number): void {
    tokensOfProcess.raise(token);
  }
}

/** Locks held in this process only. Locks held in the store are recorded as well, so that they are not granted twice. */
export class LocalLocks {
  readonly session: MemorySession;
  readonly tokens = new LocalTokens();
  /** The keys that were requested in this process last. */
  readonly keys = new Set<string>();
  private readonly locks = new MemoryLocks(undefined, this.tokens);
  /** The owners served in this process, with their keys. Every other holder acquired its lock in the store. */
  private readonly owners = new Map<OwnerId, string>();

  /** @param granted receives the grants of waiting owners */
  constructor(
    private readonly client: LockStoreClient,
    granted: (owner: OwnerId, grant: PushedGrant) => void,
  ) {
    this.session = openMemory(this.locks, { ...client, granted });
  }

  /** Whether the owner is served locally. That never changes, because it may have been withdrawn from the store. */
  has(owner: OwnerId): boolean {
    return this.owners.has(owner);
  }

  add(owner: OwnerId, key: string): void {
    this.owners.set(owner, key);
    this.keys.delete(key);
    this.keys.add(key);
    const [oldest] = this.keys;
    if (this.keys.size > MAX_KEYS && oldest !== undefined) this.keys.delete(oldest);
  }

  /** ms left of the local holds of a key, except those compatible with a hold of this limit in the store. */
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

  /** The named holds, or all, of this process only (`isLocal`), or those of the store that it knows. */
  holdsOf(key: string, isLocal: boolean, named: NamedHold = {}): readonly MemoryHold[] {
    this.locks.sweep(this.client.now());
    const holds = [...this.locks.holdersOf(key).values()];
    return holds.filter((hold) => this.owners.has(hold.owner) === isLocal && isNamed(hold, named));
  }

  /** Breaks the named hold of this process, or all; those of the store are broken there. */
  breakHold(key: string, named?: NamedHold): BreakReply {
    const holds = this.holdsOf(key, true, named);
    for (const { owner } of holds) void this.session.breakHold(key, { owner });
    if (holds.length > 0) return 'broken';
    return this.locks.holdersOf(key).size === 0 ? 'free' : 'held-by-others';
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const reply = await this.session.acquire(request);
    // The engine cancels a waiter that can't wait.
    const isOver = reply.outcome === 'busy' || (reply.outcome === 'conflict' && !request.wait);
    if (isOver) this.owners.delete(request.owner);
    return reply.outcome === 'granted' ? { ...reply, local: true } : reply;
  }

  async reserve(request: ReserveRequest): Promise<ReserveReply> {
    const reply = await this.session.reserve(request);
    if (reply.outcome !== 'reserved') this.owners.delete(request.owner);
    return reply;
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    const replies = await this.session.renew(requests);
    requests.forEach(({ owner }, index) => {
      // Lost, so it will not be released.
      if (replies[index] !== 'renewed') this.owners.delete(owner);
    });
    return replies;
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    this.owners.delete(request.owner);
    return this.session.release(request);
  }

  /** Rejects a request that has to be repeated under another owner. */
  cancelled({ key, owner, wait }: AcquireRequest): AcquireReply {
    this.withdraw(owner, key);
    // The engine cancels waiters.
    if (!wait) this.owners.delete(owner);
    return { outcome: 'cancelled' };
  }

  /** Withdraws all waiters. */
  endWaits(): void {
    for (const [owner, key] of this.owners) {
      if (!this.locks.holdersOf(key).has(owner)) this.withdraw(owner, key);
    }
  }

  /** Records a hold that the store has granted. */
  enterStored(
    { key, owner, limit, permits, label }: AcquireRequest,
    until: number,
    { token, tokens = 1, since }: Pick<PushedGrant, 'token' | 'tokens' | 'since'>,
  ): void {
    const { client, locks } = this;
    const now = client.now();
    locks.sweep(now);
    for (const hold of [...locks.holdersOf(key).values()]) {
      if (hold.owner === owner) locks.drop(hold);
      else if (limit === 1 || hold.limit !== limit) this.leaveStored(key, hold.owner);
    }
    const holder = { owner, client, tokens, limit, permits, label };
    locks.grant(key, holder, until - now, false, token).since = since;
    this.tokens.raise(token + tokens - 1);
  }

  onStoreRenewed(requests: readonly RenewRequest[], replies: RenewReplies, sentAt: MonotonicMs): void {
    requests.forEach((request, index) => {
      const reply = replies[index];
      if (reply === 'renewed') this.extendStored(request, sentAt);
      else if (reply === 'gone' || reply === 'taken') this.leaveStored(request.key, request.owner);
    });
  }

  onStoreReserved(request: ReserveRequest, reply: ReserveReply, sentAt: MonotonicMs): void {
    if (reply.outcome === 'reserved') {
      this.extendStored(request, sentAt);
      this.tokens.raise(reply.token + request.tokens - 1);
    } else this.leaveStored(request.key, request.owner);
  }

  /** The hold in the store has ended: local waiters acquire the lock. */
  leaveStored(key: string, owner: OwnerId): void {
    const isStored = this.locks.holdersOf(key).has(owner) && !this.has(owner);
    if (isStored) this.withdraw(owner, key);
  }

  private extendStored({ key, owner, lease, exactly = false }: RenewRequest, sentAt: MonotonicMs): void {
    const hold = this.has(owner) ? undefined : this.locks.holdersOf(key).get(owner);
    const until = sentAt + lease;
    if (hold !== undefined && (exactly || until > hold.expiresAt)) this.locks.prolong(hold, until);
  }

  withdraw(owner: OwnerId, key = this.owners.get(owner)): void {
    if (key === undefined) return;
    void this.session.release({ key, owner, wasGranted: false, inDoubt: false });
  }
}

/** The reply to a request for a lock that a caller of this process holds locally. */
export function heldLocally({ wait }: AcquireRequest, holderLeaseLeft: number): AcquireReply {
  return { outcome: wait ? 'queued' : 'busy', holderLeaseLeft };
}
