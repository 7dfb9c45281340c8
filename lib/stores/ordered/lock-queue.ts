import { countHolders, isOfSemaphore, limitsAgree, roomBehind } from '../port/limits.js';
import type { MonotonicMs } from '../port/lock-store.js';
import type { ReadEntry } from './entry-data.js';

/** The entry of an owner that holds a lock or waits for it. */
export interface QueueEntry {
  /** Identifies the entry in the store; never used twice. */
  readonly path: string;
  readonly owner: string;
  readonly limit: number;
  readonly permits: number;
  /** Its content, from stores that read the entries together with the queue. */
  content?(): ReadEntry;
}

/** The id of the client that an owner belongs to. */
export function clientOf(owner: string): string {
  return owner.slice(0, owner.lastIndexOf(':'));
}

/** How many waiters of a semaphore watch the whole queue: if one of them is stopped, the others are served. */
const MOST_IN_FRONT = 4;

/** Of how many clients a waiter reads all holders: if one client has died with all of its waiters, the others do. */
const MOST_READERS = 4;

/**
 * The entries of a lock, oldest first. The holders are as many of the first entries as fit together. A hand-over is not
 * written: an owner holds the lock from the moment the entries before its own are gone. No entry is inserted before
 * another, so a holder remains one until its entry is deleted.
 */
export class LockQueue {
  readonly holderCount: number;

  /**
   * @param revision of the store at which the queue was like this
   * @param readAt when the read was sent, if it saw everything that was committed before
   */
  constructor(
    readonly key: string,
    readonly entries: readonly QueueEntry[],
    readonly revision: number,
    readonly readAt?: MonotonicMs,
  ) {
    this.holderCount = countHolders(entries);
  }

  get holders(): readonly QueueEntry[] {
    return this.entries.slice(0, this.holderCount);
  }

  get waiters(): readonly QueueEntry[] {
    return this.entries.slice(this.holderCount);
  }

  holderOf(owner: string): QueueEntry | undefined {
    return this.holders.find((entry) => entry.owner === owner);
  }

  /** -1 if there is no such entry. */
  indexOf(path: string): number {
    return this.entries.findIndex((entry) => entry.path === path);
  }

  holds(path: string): boolean {
    const index = this.indexOf(path);
    return index !== -1 && index < this.holderCount;
  }

  /** Whether one more entry with this limit and these permits would hold the lock at once. */
  hasRoom({ limit, permits }: Pick<QueueEntry, 'limit' | 'permits'>): boolean {
    return roomBehind(this.entries, limit, this.holderCount) >= permits;
  }

  /** The limit of the holders, if it conflicts with this one. */
  conflictWith(limit: number): number | undefined {
    const [first] = this.entries;
    return first === undefined || limitsAgree(first.limit, limit) ? undefined : first.limit;
  }

  /** Whether other clients wait. */
  othersWait(client: string): boolean {
    const prefix = `${client}:`;
    return this.waiters.some(({ owner }) => !owner.startsWith(prefix));
  }

  /** Why an owner no longer holds the lock: `taken` if another one holds it exclusively. */
  whyNotHeld(owner: string): 'gone' | 'taken' {
    const [first] = this.entries;
    return first?.limit === 1 && first.owner !== owner ? 'taken' : 'gone';
  }

  /**
   * The entry that a waiter watches: it can't hold the lock before that entry is deleted or, in a semaphore, holds the
   * lock. Readers need not wait for readers.
   */
  predecessorOf(index: number): QueueEntry | undefined {
    if (this.entries[index]?.limit !== Infinity) return this.entries[index - 1];
    return this.entries
      .slice(0, index)
      .reverse()
      .find(({ limit }) => limit !== Infinity);
  }

  /** Whether a waiter is among the first, which in a semaphore watch the whole queue. */
  isFront(index: number): boolean {
    const { limit = 1 } = this.entries[index] ?? {};
    return index < this.holderCount + (isOfSemaphore(limit) ? Math.min(limit, MOST_IN_FRONT) : 1);
  }

  /** Whether a waiter reads all holders: one at the front, and the first waiter of each of the first clients. */
  readsAllHolders(index: number): boolean {
    if (this.isFront(index)) return true;
    const clients = new Set(this.entries.slice(this.holderCount, index).map(({ owner }) => clientOf(owner)));
    return clients.size < MOST_READERS && !clients.has(clientOf(this.entries[index]?.owner ?? ''));
  }
}
