import { isKey } from '../../model/lock-key.js';
import { checkCursor } from '../port/store-failure.js';
import type {
  AcquireReply,
  AcquireRequest,
  BreakReply,
  ListedKeys,
  ListKeysRequest,
  LockBoard,
  LockStoreClient,
  LockStoreSession,
  NamedHold,
  OwnerId,
  OwnerRequest,
  RaiseRequest,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  StoredLock,
} from '../port/lock-store.js';
import { isNamed } from '../port/forwarding-session.js';
import { Glob } from '../../common/glob.js';
import { firstRoom } from '../port/limits.js';
import { callAfterwards, type MemoryHold, type MemoryLocks } from './memory-locks.js';

/** One client of the locks in memory. Everything happens synchronously; the port requires the promises. */
export class MemorySession implements LockStoreSession {
  readonly board: LockBoard;

  constructor(
    private readonly locks: MemoryLocks,
    private readonly client: LockStoreClient,
  ) {
    this.board = locks.boardAt(() => client.now());
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    const { key, owner, lease, wait, limit } = request;
    const { client, locks } = this;
    const hold = this.holdOf(key, owner);
    if (hold !== undefined) {
      this.prolong(hold, lease, false);
      // Tokens reserved with the grant are not reported again: they may be in use.
      return this.granted(hold, 1);
    }
    const conflict = locks.conflictWith(key, limit, client.now());
    if (conflict !== undefined) {
      locks.leaveQueue(key, owner);
      locks.handOver(key);
      return Promise.resolve({ outcome: 'conflict', limit: conflict });
    }
    if (wait && (locks.holdersOf(key).size > 0 || locks.hasWaiters(key))) {
      locks.enqueue(key, { ...request, client });
    }
    if (locks.handOver(key, owner) && locks.hasRoom(key, request)) {
      locks.leaveQueue(key, owner);
      const granted = locks.grant(key, { ...request, client }, lease, false);
      locks.handOver(key);
      return this.granted(granted, request.tokens);
    }
    return Promise.resolve({
      outcome: wait ? 'queued' : 'busy',
      holderLeaseLeft: this.leaseLeft(request),
    });
  }

  release(request: OwnerRequest): Promise<ReleaseReply> {
    this.locks.leaveQueue(request.key, request.owner);
    return Promise.resolve(this.free(request) ? 'released' : 'not-held');
  }

  renew(requests: readonly RenewRequest[]): Promise<readonly RenewReply[]> {
    return Promise.resolve(requests.map((request) => this.renewed(request) ?? 'renewed'));
  }

  reserve(request: ReserveRequest): Promise<ReserveReply> {
    const outcome = this.renewed(request);
    if (outcome !== undefined) return Promise.resolve({ outcome });
    const othersWait = this.locks.othersWait(request.key, this.client);
    return Promise.resolve({
      outcome: 'reserved',
      token: this.locks.tokens.reserve(request.tokens),
      othersWait,
    });
  }

  raise({ key, owner, granted, token, since, floor }: RaiseRequest): Promise<void> {
    this.locks.tokens.raise(floor);
    const hold = this.holdOf(key, owner);
    if (hold?.token === granted) Object.assign(hold, { token, since });
    return Promise.resolve();
  }

  raiseTokens(floor: number): Promise<void> {
    this.locks.tokens.raise(floor);
    return Promise.resolve();
  }

  inspect(key: string): Promise<StoredLock | null> {
    const { client, locks } = this;
    const now = client.now();
    locks.sweep(now);
    const limit = locks.limitOf(key);
    if (limit === undefined) return Promise.resolve(null);
    const holders = [...locks.holdersOf(key).values()].map((hold) => {
      const { owner, token, since, expiresAt, permits, label } = hold;
      return { owner, token, since, leaseLeft: expiresAt - now, permits, label };
    });
    const waiters = [...locks.waitersOf(key)]
      .filter(({ aliveUntil }) => aliveUntil >= now)
      .map(({ owner, callers, limit, permits, label }) => ({ owner, callers, limit, permits, label }));
    return Promise.resolve({ limit, holders, waiters });
  }

  /** Sorted by key, so that the last key is the cursor. */
  async listKeys({ match, cursor = '', count }: ListKeysRequest): Promise<ListedKeys> {
    const { client, locks } = this;
    checkCursor(cursor === '' || isKey(cursor));
    locks.sweep(client.now());
    const all = locks.keys.filter((key) => key > cursor).sort();
    const some = all.slice(0, count);
    const glob = new Glob(match);
    const keys = some.filter((key) => glob.matches(key));
    return await Promise.resolve({ keys, cursor: some.length < all.length ? some.at(-1) : undefined });
  }

  breakHold(key: string, named: NamedHold = {}): Promise<BreakReply> {
    const { client, locks } = this;
    locks.sweep(client.now());
    const holds = [...locks.holdersOf(key).values()];
    const broken = holds.filter((hold) => isNamed(hold, named));
    for (const hold of broken) {
      locks.drop(hold);
      callAfterwards(() => hold.client.broken(hold.owner));
    }
    // Also after a hold that has expired.
    locks.handOver(key);
    if (broken.length > 0) return Promise.resolve('broken');
    return Promise.resolve(holds.length === 0 ? 'free' : 'held-by-others');
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private holdOf(key: string, owner: OwnerId): MemoryHold | undefined {
    this.locks.sweep(this.client.now());
    return this.locks.holdersOf(key).get(owner);
  }

  private free({ key, owner }: OwnerRequest): boolean {
    const hold = this.holdOf(key, owner);
    if (hold !== undefined) this.locks.drop(hold);
    this.locks.handOver(key);
    return hold !== undefined;
  }

  /** Renews a hold, or returns why it can't. */
  private renewed({ key, owner, lease, exactly = false }: RenewRequest): 'gone' | 'taken' | undefined {
    const hold = this.holdOf(key, owner);
    // Other holders of permits may exist beside this owner.
    if (hold === undefined) return this.locks.limitOf(key) === 1 ? 'taken' : 'gone';
    if (lease > 0) this.prolong(hold, lease, exactly);
    return undefined;
  }

  /** A claim of a pushed grant sets the lease exactly; any other renewal never shortens it, unless `exactly`. */
  private prolong(hold: MemoryHold, lease: number, exactly: boolean): void {
    const expiresAt = this.client.now() + lease;
    if (exactly || hold.unclaimed || expiresAt > hold.expiresAt) this.locks.prolong(hold, expiresAt);
    hold.unclaimed = false;
  }

  /** ms until there may be room. */
  private leaseLeft(request: AcquireRequest): number {
    const holders = [...this.locks.holdersOf(request.key).values()];
    const leases = holders.map(({ expiresAt, permits }) => ({ end: expiresAt, permits }));
    return Math.max(0, (firstRoom(request, leases) ?? 0) - this.client.now());
  }

  private granted({ key, token, since }: MemoryHold, tokens: number): Promise<AcquireReply> {
    const othersWait = this.locks.othersWait(key, this.client);
    return Promise.resolve({ outcome: 'granted', token, since, tokens, othersWait });
  }
}
