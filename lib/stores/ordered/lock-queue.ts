import { countHolders, limitsAgree, roomBehind } from '../port/limits.js';

/** The entry of an owner that holds a lock or waits for it. */
export interface OwnedEntry {
  readonly owner: string;
  readonly limit: number;
  readonly permits: number;
}

/** The id of the client that an owner belongs to. */
export function clientOf(owner: string): string {
  return owner.slice(0, owner.lastIndexOf(':'));
}

/**
 * The entries of a lock, oldest first. The holders are as many of the first entries as fit together. A hand-over is not
 * written: an owner holds the lock from the moment the entries before its own are gone. No entry is inserted before
 * another, so a holder remains one until its entry is deleted.
 */
export class LockQueue<E extends OwnedEntry> {
  readonly holderCount: number;

  constructor(readonly entries: readonly E[]) {
    this.holderCount = countHolders(entries);
  }

  get holders(): readonly E[] {
    return this.entries.slice(0, this.holderCount);
  }

  get waiters(): readonly E[] {
    return this.entries.slice(this.holderCount);
  }

  /** The holder or waiter with this owner. */
  entryOf(owner: string): E | undefined {
    return this.entries.find((entry) => entry.owner === owner);
  }

  holderOf(owner: string): E | undefined {
    return this.holders.find((entry) => entry.owner === owner);
  }

  /** Whether one more entry with this limit and these permits would hold the lock at once. */
  hasRoom({ limit, permits }: Pick<OwnedEntry, 'limit' | 'permits'>): boolean {
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
}
