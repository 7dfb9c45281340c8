import type { QuorumAcquire } from './quorum-acquire.js';
import type { QuorumContext } from './quorum-context.js';
import { asked } from './majority.js';
import type { Pause } from './pauses.js';
import { Competitors } from './competitors.js';
import type { MemberState } from './member-state.js';

/** How long a grant that is no majority is kept before the first look at the others, ms. */
const FIRST_LOOK = 20;
/** How long one that gives way stays away at most the first time, ms. */
const FIRST_ABSENCE = 20;
/** To what both grow, ms. */
const LONGEST = 500;

/**
 * Breaks a split: members whose orders disagree have granted the lock to different owners, and nobody has a majority.
 * Each of those looks who has how many. The one with the most keeps what it has, and so do those that have room beside
 * it; the others leave all members, which pass the lock to their next waiters, and queue again together a little later:
 * then the orders agree. While the lock is held, so that there is no room, the rest may stay with whoever has it.
 */
export class SplitVoteResolver {
  private pause: Pause | undefined;
  private isLooking = false;
  private standingBack = false;
  private looks = 0;
  private absences = 0;

  constructor(
    private readonly candidacy: QuorumAcquire,
    private readonly electorate: QuorumContext,
  ) {}

  /** Whether the owner has left the members for a moment. */
  get isStandingBack(): boolean {
    return this.standingBack;
  }

  start(): void {
    if (this.pause !== undefined || this.isLooking) return;
    const ms = Math.min(FIRST_LOOK * 2 ** this.looks, LONGEST, this.soon) * (0.5 + Math.random());
    this.pause = this.electorate.pauses.after(ms, () => {
      this.pause = undefined;
      void this.look();
    });
  }

  stop(): void {
    this.electorate.pauses.clear(this.pause);
    this.pause = undefined;
    this.standingBack = false;
    this.looks = this.absences = 0;
  }

  /** ms in which a grant that nobody claims is not over yet: neither pauses nor silent members may take longer. */
  private get soon(): number {
    return this.candidacy.claimLease / 4;
  }

  private async look(): Promise<void> {
    const { candidacy, electorate } = this;
    const { seats, owner, key, limit } = candidacy;
    this.isLooking = true;
    const own = new Set(candidacy.voters);
    const rivals = new Competitors(owner, limit, seats.length);
    const found: MemberState[] = [];
    const inspector = seats.map(async (seat, index) => {
      // Nobody is beside it where the owner has all of the lock.
      if (limit === 1 && own.has(seat)) return;
      const lock = await asked(async () => (await electorate.members[index]?.inspect(key)) ?? null);
      if (lock !== null && rivals.note(lock) && !own.has(seat)) found.push(seat);
    });
    await electorate.pauses.within(Math.min(electorate.patience, this.soon), Promise.allSettled(inspector));
    this.isLooking = false;
    if (candidacy.state !== 'waiting') return;
    this.looks += 1;
    // The message was lost, or is late: asking claims the grant.
    for (const seat of found) if (seat.underWay === 0) candidacy.send(seat);
    const mine = candidacy.voters.length + found.length;
    if (mine === 0) return;
    if (!rivals.haveWon() && rivals.outdo(mine)) {
      this.giveWay();
      return;
    }
    this.keep();
    this.start();
  }

  private giveWay(): void {
    const { candidacy, electorate } = this;
    this.standingBack = true;
    candidacy.backOff();
    const longest = Math.min(FIRST_ABSENCE * 2 ** this.absences, LONGEST);
    this.absences += 1;
    this.looks = 0;
    this.pause = electorate.pauses.after(1 + Math.random() * longest, () => {
      this.pause = undefined;
      this.standingBack = false;
      candidacy.standAgain();
    });
  }

  /** Grants that nobody claims end soon; these are kept for as long as we look after them. */
  private keep(): void {
    const { candidacy, electorate } = this;
    const { client, members } = electorate;
    const { key, claimLease } = candidacy;
    for (const [index, seat] of candidacy.seats.entries()) {
      const startedAt = client.now();
      // Nor is one made shorter.
      if (seat.vote === undefined || seat.endsAt - startedAt > Math.min(2 * LONGEST, claimLease)) continue;
      const { owner } = seat;
      asked(async () => await members[index]?.renew([{ key, owner, lease: claimLease }])).then(
        (replies) => {
          if (seat.owner !== owner) return;
          const [reply] = replies ?? [];
          if (reply === 'renewed') seat.renewed(startedAt, { lease: claimLease }, undefined);
          else if (reply === 'gone' || reply === 'taken') {
            candidacy.dismiss(seat);
            if (candidacy.state === 'waiting') candidacy.send(seat);
          }
        },
        () => undefined, // Tried again at the next look.
      );
    }
  }
}
