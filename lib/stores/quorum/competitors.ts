import type { OwnerId, StoredLock } from '../port/lock-store.js';
import { votesNeeded } from './majority.js';
import { baseOf } from './owner-name.js';

interface Competitor {
  readonly owner: OwnerId;
  readonly limit: number;
  votes: number;
}

/** Owners to whom members have granted the lock beside one that has no majority, as a look at the members shows. */
export class Competitors {
  private readonly found = new Map<OwnerId, Competitor>();
  /** Whether somebody waits whose limit is another one, such as a writer among readers. */
  private otherLimitWaits = false;

  /**
   * @param limit how many may hold the lock at once, the owner included
   * @param members how many there are
   */
  constructor(
    private readonly owner: OwnerId,
    private readonly limit: number,
    private readonly members: number,
  ) {}

  /** Counts the votes of a member. Answers whether the owner itself has one of them. */
  add({ limit, holders, waiters }: StoredLock): boolean {
    let isAmongThem = false;
    this.otherLimitWaits ||= waiters.some((waiter) => waiter.limit !== this.limit);
    for (const holder of holders) {
      const owner = baseOf(holder.owner);
      if (owner === this.owner) {
        isAmongThem = true;
        continue;
      }
      const competitor = this.found.get(owner) ?? { owner, limit, votes: 0 };
      competitor.votes += 1;
      this.found.set(owner, competitor);
    }
    return isAmongThem;
  }

  /** Whether those that have enough votes leave no room for the owner. */
  haveWon(): boolean {
    return this.leaveNoRoom(({ limit, votes }) => votes >= votesNeeded(this.members, limit));
  }

  /** Whether an owner with so many votes has to give way: those with more votes leave no room for it. */
  prevailOver(votesOfOwner: number): boolean {
    return this.leaveNoRoom(
      ({ owner, votes }) =>
        votes > votesOfOwner || (votes === votesOfOwner && tieBreaker(owner) > tieBreaker(this.owner)),
    );
  }

  private leaveNoRoom(filter: (competitor: Competitor) => boolean): boolean {
    const some = [...this.found.values()].filter(filter);
    // Readers have room beside each other, but a writer that waits between them at some members keeps them apart.
    const room = this.limit === Infinity && this.otherLimitWaits ? 1 : this.limit;
    return some.length >= room || some.some(({ limit }) => limit !== this.limit);
  }
}

/** A hash (FNV-1a) by which one of two equals gives way: as good as at random, and the same for all who look. */
function tieBreaker(owner: OwnerId): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < owner.length; index++) {
    hash = Math.imul(hash ^ owner.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
