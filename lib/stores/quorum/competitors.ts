import type { OwnerId, StoredLock } from '../port/lock-store.js';
import { votesNeeded } from './majority.js';
import { baseOf } from './member-state.js';

interface Rival {
  readonly owner: OwnerId;
  readonly limit: number;
  votes: number;
}

/** Those to whom members have granted the lock beside an owner that has no majority, as a look at the members shows. */
export class Competitors {
  private readonly found = new Map<OwnerId, Rival>();
  /** Whether somebody waits who needs all of the lock that the owner would share. */
  private isBarred = false;

  /**
   * @param limit how many may hold the lock at once, the owner included
   * @param members how many there are
   */
  constructor(
    private readonly owner: OwnerId,
    private readonly limit: number,
    private readonly members: number,
  ) {}

  /** Notes who has the votes of a member; whether the owner itself is among them. */
  note({ limit, holders, waiters }: StoredLock): boolean {
    let isAmongThem = false;
    this.isBarred ||= waiters.some((waiter) => waiter.limit !== this.limit);
    for (const holder of holders) {
      const owner = baseOf(holder.owner);
      if (owner === this.owner) {
        isAmongThem = true;
        continue;
      }
      const rival = this.found.get(owner) ?? { owner, limit, votes: 0 };
      rival.votes += 1;
      this.found.set(owner, rival);
    }
    return isAmongThem;
  }

  /** Whether the lock is theirs. */
  haveWon(): boolean {
    return this.keepOut(({ limit, votes }) => votes >= votesNeeded(this.members, limit));
  }

  /** Whether an owner with so many votes has to give way to them. */
  outdo(mine: number): boolean {
    return this.keepOut(
      ({ owner, votes }) => votes > mine || (votes === mine && weightOf(owner) > weightOf(this.owner)),
    );
  }

  /** Whether there is no room for the owner beside these. */
  private keepOut(theseOnes: (rival: Rival) => boolean): boolean {
    const rivals = [...this.found.values()].filter(theseOnes);
    // Readers have room beside each other, but a writer that waits between them at some members keeps them apart.
    const room = this.limit === Infinity && this.isBarred ? 1 : this.limit;
    return rivals.length >= room || rivals.some(({ limit }) => limit !== this.limit);
  }
}

/** Which of two equals gives way: as good as at random, and the same for all who look. */
function weightOf(owner: OwnerId): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < owner.length; index++) {
    hash = Math.imul(hash ^ owner.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
