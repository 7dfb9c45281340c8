import { IndexedHeap, type HeapItem } from '../../common/timer-queue.js';
import { limitsAgree, permitsOf } from '../port/limits.js';
import type { LockBoard, LockStoreClient, MonotonicMs, OwnerId, WallClockMs } from '../port/lock-store.js';
import { WAITER_TTL } from '../port/times.js';

export interface MemoryHold extends HeapItem {
  readonly key: string;
  readonly owner: OwnerId;
  readonly client: LockStoreClient;
  readonly limit: number;
  readonly permits: number;
  readonly label: string | undefined;
  token: number;
  since: WallClockMs;
  /** Whether the grant was pushed and has not been claimed yet. */
  unclaimed: boolean;
  expiresAt: number;
}

export interface MemoryWaiter {
  readonly owner: OwnerId;
  readonly client: LockStoreClient;
  readonly claimLease: number;
  readonly callers: number;
  readonly tokens: number;
  readonly limit: number;
  readonly permits: number;
  readonly label: string | undefined;
  readonly aliveUntil: number;
}

const RESOLVED = Promise.resolve();

/** Calls back after the current call, as a message would. Not with `queueMicrotask`, which fake timers of a test replace. */
export function callAfterwards(callback: () => void): void {
  void RESOLVED.then(callback);
}

/** Fencing tokens: they start from the clock, so that they also grow from one process to the next. */
export class TokenSequence {
  /** Later tokens are larger. */
  last = 0;

  /**
   * Reserves consecutive tokens and returns the first.
   *
   * @param from the smallest
   */
  reserve(count: number, from = Date.now() * 1_000): number {
    const first = Math.max(this.last + 1, from);
    this.last = first + count - 1;
    return first;
  }

  /** Later tokens are larger than `floor`. */
  raise(floor: number): void {
    this.last = Math.max(this.last, floor);
  }
}

/** Tokens grow across all stores of the process. */
export const tokensOfProcess = new TokenSequence();

const NO_HOLDERS: ReadonlyMap<OwnerId, MemoryHold> = new Map<OwnerId, MemoryHold>();

/** The state and rules of the Redis Lua scripts, in TypeScript. */
export class MemoryLocks {
  private readonly texts = new Map<string, { readonly text: string; readonly until: number }>();
  private watchedUntil = -Infinity;
  private readonly holds = new Map<string, Map<OwnerId, MemoryHold>>();
  private readonly queues = new Map<string, Map<OwnerId, MemoryWaiter>>();
  private readonly expiries = new IndexedHeap<MemoryHold>((hold) => hold.expiresAt);

  /** @param wall the wall clock for `since`, ms since the epoch */
  constructor(
    private readonly wall: () => number = () => Date.now(),
    readonly tokens: Pick<TokenSequence, 'reserve' | 'raise'> = tokensOfProcess,
  ) {}

  /** The board, using the clock of one session. */
  boardAt(now: () => number): LockBoard {
    return {
      watch: (ttl) => {
        this.watchedUntil = now() + ttl;
        return Promise.resolve();
      },
      isWatched: () => Promise.resolve(now() < this.watchedUntil),
      publish: (name, text, ttl) => {
        this.texts.set(name, { text, until: now() + ttl });
        return Promise.resolve();
      },
      read: () => {
        for (const [name, { until }] of this.texts) if (until <= now()) this.texts.delete(name);
        return Promise.resolve([...this.texts.values()].map(({ text }) => text));
      },
    };
  }

  /** Drops expired holds. */
  sweep(now: MonotonicMs): void {
    for (
      let first = this.expiries.peek();
      first !== undefined && first.expiresAt <= now;
      first = this.expiries.peek()
    ) {
      this.drop(first);
    }
  }

  /** The held keys. */
  get keys(): readonly string[] {
    return [...this.holds.keys()];
  }

  /** Oldest first. */
  holdersOf(key: string): ReadonlyMap<OwnerId, MemoryHold> {
    return this.holds.get(key) ?? NO_HOLDERS;
  }

  /** The limit of the holders; undefined if there are none. */
  limitOf(key: string): number | undefined {
    for (const { limit } of this.holdersOf(key).values()) return limit;
    return undefined;
  }

  /** Whether one more owner with this limit and these permits fits beside the holders. */
  hasRoom(key: string, { limit, permits }: Pick<MemoryWaiter, 'limit' | 'permits'>): boolean {
    const held = permitsOf(this.holdersOf(key).values());
    return held === 0 || (held + permits <= limit && this.limitOf(key) === limit);
  }

  waitersOf(key: string): Iterable<MemoryWaiter> {
    return this.queues.get(key)?.values() ?? [];
  }

  hasWaiters(key: string): boolean {
    return this.queues.has(key);
  }

  /** The limit of the key's holders, or else of its waiters, if this one conflicts with it. */
  conflictWith(key: string, limit: number, now: MonotonicMs): number | undefined {
    const held = this.limitOf(key);
    if (held !== undefined) return limitsAgree(held, limit) ? undefined : held;
    // Waiters agree with each other.
    for (const waiter of this.waitersOf(key)) {
      if (waiter.aliveUntil >= now) return limitsAgree(waiter.limit, limit) ? undefined : waiter.limit;
    }
    return undefined;
  }

  /** Whether other clients wait for the key. */
  othersWait(key: string, client: LockStoreClient): boolean {
    for (const waiter of this.waitersOf(key)) if (waiter.client !== client) return true;
    return false;
  }

  grant(
    key: string,
    waiter: Pick<MemoryWaiter, 'owner' | 'client' | 'tokens' | 'limit' | 'permits' | 'label'>,
    lease: number,
    unclaimed: boolean,
    token = this.tokens.reserve(waiter.tokens),
  ): MemoryHold {
    const { owner, client, limit, permits, label } = waiter;
    const hold: MemoryHold = {
      key,
      owner,
      client,
      limit,
      permits,
      label,
      token,
      since: this.wall() as WallClockMs,
      unclaimed,
      expiresAt: client.now() + lease,
      heapIndex: -1,
    };
    const holders = this.holds.get(key);
    if (holders === undefined) this.holds.set(key, new Map([[owner, hold]]));
    else holders.set(owner, hold);
    this.expiries.push(hold);
    return hold;
  }

  prolong(hold: MemoryHold, expiresAt: number): void {
    this.expiries.remove(hold);
    hold.expiresAt = expiresAt;
    this.expiries.push(hold);
  }

  drop(hold: MemoryHold): void {
    const { key, owner } = hold;
    const holders = this.holds.get(key);
    holders?.delete(owner);
    if (holders?.size === 0) this.holds.delete(key);
    this.expiries.remove(hold);
  }

  enqueue(key: string, waiter: Omit<MemoryWaiter, 'aliveUntil'>): void {
    const queue = this.queues.get(key) ?? new Map<OwnerId, MemoryWaiter>();
    this.queues.set(key, queue);
    const aliveUntil = waiter.client.now() + WAITER_TTL;
    // A known owner keeps its position.
    queue.set(waiter.owner, { ...waiter, aliveUntil });
  }

  leaveQueue(key: string, owner: OwnerId): void {
    const queue = this.queues.get(key);
    queue?.delete(owner);
    if (queue?.size === 0) this.queues.delete(key);
  }

  /**
   * Grants the lock to waiters, in order, while there is room. Stops at `asking`, whose reply is the grant. Returns
   * whether no waiter is left before it.
   */
  handOver(key: string, asking?: OwnerId): boolean {
    for (const waiter of this.waitersOf(key)) {
      const now = waiter.client.now();
      const isAlive = waiter.aliveUntil >= now;
      if (isAlive && waiter.owner === asking) return true;
      if (isAlive && !this.hasRoom(key, waiter)) return false;
      this.leaveQueue(key, waiter.owner);
      if (!isAlive) continue;
      const { token, since, owner, client } = this.grant(key, waiter, waiter.claimLease, true);
      callAfterwards(() => {
        const othersWait = this.othersWait(key, client);
        const { claimLease: lease, tokens } = waiter;
        client.granted(owner, { token, since, startedAt: now, lease, tokens, othersWait });
      });
    }
    return true;
  }
}
