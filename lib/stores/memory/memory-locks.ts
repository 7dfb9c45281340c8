import { IndexedHeap, type HeapItem } from '../../collections/indexed-heap.js';
import type { LockStoreClient, MonotonicMs, OwnerId, WallClockMs } from '../lock-store.js';

export interface MemoryHold extends HeapItem {
  readonly key: string;
  readonly owner: OwnerId;
  readonly client: LockStoreClient;
  token: number;
  since: WallClockMs;
  /** Whether the grant was pushed and not claimed yet. */
  unclaimed: boolean;
  expiresAt: number;
}

export interface MemoryWaiter {
  readonly owner: OwnerId;
  readonly client: LockStoreClient;
  claimLease: number;
  callers: number;
  tokens: number;
  aliveUntil: number;
}

/** How long a waiter keeps its place without asking again, ms: three polls (P15). */
const PATIENCE = 3_000;

let lastToken = 0;

/** The first of some tokens that nobody else gets: they grow over all stores of the process, and from one process to the next (P3). */
export function reserveTokens(count: number): number {
  const first = Math.max(lastToken + 1, Date.now() * 1000);
  lastToken = first + count - 1;
  return first;
}

/** Tokens from now on are larger than this. */
export function raiseTokens(floor: number): void {
  lastToken = Math.max(lastToken, floor);
}

/** The state that the Lua scripts keep in Redis, and their rules, in plain TypeScript (P43). */
export class MemoryLocks {
  private readonly holds = new Map<string, MemoryHold>();
  private readonly queues = new Map<string, Map<OwnerId, MemoryWaiter>>();
  private readonly expiries = new IndexedHeap<MemoryHold>((hold) => hold.expiresAt);

  /** Forgets what has expired, so that nothing is left behind (P4). */
  sweep(now: MonotonicMs): void {
    for (
      let first = this.expiries.peek();
      first !== undefined && first.expiresAt <= now;
      first = this.expiries.peek()
    ) {
      this.drop(first);
    }
  }

  holdOf(key: string): MemoryHold | undefined {
    return this.holds.get(key);
  }

  waitersOf(key: string): Iterable<MemoryWaiter> {
    return this.queues.get(key)?.values() ?? [];
  }

  hasWaiters(key: string): boolean {
    return this.queues.has(key);
  }

  /** Whether other clients wait for the key. */
  othersWait(key: string, client: LockStoreClient): boolean {
    for (const waiter of this.waitersOf(key)) if (waiter.client !== client) return true;
    return false;
  }

  grant(
    key: string,
    waiter: Pick<MemoryWaiter, 'owner' | 'client' | 'tokens'>,
    lease: number,
    unclaimed: boolean,
  ): MemoryHold {
    const { owner, client, tokens } = waiter;
    const hold: MemoryHold = {
      key,
      owner,
      client,
      token: reserveTokens(tokens),
      since: Date.now() as WallClockMs,
      unclaimed,
      expiresAt: client.now() + lease,
      heapIndex: -1,
    };
    this.holds.set(key, hold);
    this.expiries.push(hold);
    return hold;
  }

  prolong(hold: MemoryHold, expiresAt: number): void {
    this.expiries.remove(hold);
    hold.expiresAt = expiresAt;
    this.expiries.push(hold);
  }

  drop(hold: MemoryHold): void {
    this.holds.delete(hold.key);
    this.expiries.remove(hold);
  }

  enqueue(key: string, waiter: Omit<MemoryWaiter, 'aliveUntil'>): void {
    const queue = this.queues.get(key) ?? new Map<OwnerId, MemoryWaiter>();
    this.queues.set(key, queue);
    const aliveUntil = waiter.client.now() + PATIENCE;
    const known = queue.get(waiter.owner);
    if (known === undefined) queue.set(waiter.owner, { ...waiter, aliveUntil });
    else Object.assign(known, waiter, { aliveUntil });
  }

  leaveQueue(key: string, owner: OwnerId): void {
    const queue = this.queues.get(key);
    queue?.delete(owner);
    if (queue?.size === 0) this.queues.delete(key);
  }

  /** Gives the free lock to the first living waiter. `asking` is answered without being granted. */
  handOver(key: string, asking?: OwnerId): MemoryWaiter | undefined {
    for (const waiter of this.waitersOf(key)) {
      const now = waiter.client.now();
      if (waiter.owner === asking && waiter.aliveUntil >= now) return waiter;
      this.leaveQueue(key, waiter.owner);
      if (waiter.aliveUntil < now) continue;
      const { token, since, owner, client } = this.grant(key, waiter, waiter.claimLease, true);
      // Like a message: after the call that caused it.
      queueMicrotask(() => {
        const othersWait = this.othersWait(key, client);
        const { claimLease: lease, tokens } = waiter;
        client.granted(owner, { token, since, startedAt: now, lease, tokens, othersWait });
      });
      return waiter;
    }
    return undefined;
  }
}
