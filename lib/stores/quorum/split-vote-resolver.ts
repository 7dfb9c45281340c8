import type { Timer } from '../../common/timer-queue.js';
import { permitsOf } from '../port/limits.js';
import type { AcquireRequest, OwnerId, StoredLock, StoredWaiter } from '../port/lock-store.js';
import { asked } from '../port/store-failure.js';
import { votesNeeded, type QuorumContext } from './majority.js';
import type { MemberState } from './member-state.js';
import type { QuorumAcquire } from './quorum-acquire.js';
import { baseOf } from './votes.js';

/** How long an owner without a majority waits before it first inspects the members, ms. */
const FIRST_LOOK = 20;
/** How long an owner that gives way stays out of the queues at most the first time, ms. */
const FIRST_BACK_OFF = 20;
/** The limit to which both grow, ms. */
const MAX_PAUSE = 500;

/**
 * Resolves a split vote: members with different queue orders have granted the lock to different owners, and none has a
 * majority. Each owner with votes inspects the members. The one with the most votes keeps them, and so do those that
 * may hold the lock beside it. The others leave all members, which then serve their next waiters, and queue again a
 * little later: then the orders agree. Once there is a winner, the others keep their votes and wait.
 */
export class SplitVoteResolver {
  /** Whether the owner has left the members for a moment. */
  isBackingOff = false;
  private timer: Timer | undefined;
  private isLooking = false;
  private looks = 0;
  private backOffs = 0;

  constructor(
    private readonly acquire: QuorumAcquire,
    private readonly context: QuorumContext,
  ) {}

  start(): void {
    if (this.timer !== undefined || this.isLooking) return;
    const ms = Math.min(FIRST_LOOK * 2 ** this.looks, MAX_PAUSE, this.maxDelay) * (0.5 + Math.random());
    this.timer = this.context.timers.after(ms, () => {
      this.timer = undefined;
      void this.look();
    });
  }

  stop(): void {
    if (this.timer !== undefined) this.context.timers.clear(this.timer);
    this.timer = undefined;
    this.isBackingOff = false;
    this.looks = this.backOffs = 0;
  }

  /** ms in which an unclaimed grant does not expire: neither pauses nor missing replies may take longer. */
  private get maxDelay(): number {
    return this.acquire.latest.claimLease / 4;
  }

  private async look(): Promise<void> {
    const { acquire, context } = this;
    const { members, key, limit } = acquire;
    this.isLooking = true;
    const own = new Set(acquire.voters);
    const competitors = new Competitors(acquire.latest, members.length);
    const found: MemberState[] = [];
    const inspections = members.map(async (member, index) => {
      // An exclusive holder has no competitors at that member.
      if (limit === 1 && own.has(member)) return;
      const lock = await asked(async () => (await context.sessions[index]?.inspect(key)) ?? null);
      if (lock !== null && competitors.add(lock) && !own.has(member)) found.push(member);
    });
    await context.timers.within(
      Math.min(context.memberTimeout, this.maxDelay),
      Promise.allSettled(inspections),
    );
    this.isLooking = false;
    if (acquire.state !== 'waiting') return;
    this.looks += 1;
    // The pushed grant is late or lost: a request claims it.
    for (const member of found) if (member.underWay === 0) acquire.send(member);
    const votes = acquire.voters.length + found.length;
    if (votes === 0) return;
    if (!competitors.haveWon() && competitors.prevailOver(votes)) {
      this.giveWay();
      return;
    }
    this.renewVotes();
    this.start();
  }

  private giveWay(): void {
    const { acquire, context } = this;
    this.isBackingOff = true;
    const longest = Math.min(FIRST_BACK_OFF * 2 ** this.backOffs, MAX_PAUSE);
    this.backOffs += 1;
    this.looks = 0;
    this.timer = context.timers.after(1 + Math.random() * longest, () => {
      this.timer = undefined;
      this.isBackingOff = false;
      acquire.requeue();
    });
    acquire.backOff();
  }

  /** Unclaimed grants have a short lease; they are requested again for as long as the split lasts. */
  private renewVotes(): void {
    const { acquire, context } = this;
    const { claimLease } = acquire.latest;
    const now = context.client.now();
    for (const member of acquire.members) {
      // The request must not shorten a lease that lasts longer than a claim.
      const isShort = member.endsAt - now <= Math.min(2 * MAX_PAUSE, claimLease);
      if (member.vote !== undefined && isShort && member.underWay === 0) acquire.send(member, claimLease);
    }
  }
}

interface Competitor {
  readonly owner: OwnerId;
  readonly limit: number;
  readonly permits: number;
  votes: number;
}

/** The other owners that have votes, according to an inspection of the members. */
class Competitors {
  private readonly found = new Map<OwnerId, Competitor>();
  private readonly waiting = new Map<OwnerId, StoredWaiter>();

  constructor(
    private readonly request: Pick<AcquireRequest, 'owner' | 'limit' | 'permits'>,
    private readonly members: number,
  ) {}

  /** Counts the votes of a member. Returns whether the owner itself has one of them. */
  add({ limit, holders, waiters }: StoredLock): boolean {
    let isAmongThem = false;
    for (const waiter of waiters) this.waiting.set(baseOf(waiter.owner), waiter);
    for (const { owner: name, permits } of holders) {
      const owner = baseOf(name);
      if (owner === this.request.owner) {
        isAmongThem = true;
        continue;
      }
      const competitor = this.found.get(owner) ?? { owner, limit, permits, votes: 0 };
      competitor.votes += 1;
      this.found.set(owner, competitor);
    }
    return isAmongThem;
  }

  /** Whether owners that have enough votes leave no room for this one. */
  haveWon(): boolean {
    return this.leaveNoRoom([...this.found.values()].filter((competitor) => this.hasWon(competitor)));
  }

  /** Whether this owner, with this many votes, has to give way: those with more votes leave no room for it. */
  prevailOver(votesOfOwner: number): boolean {
    const { owner: own } = this.request;
    const stronger = [...this.found.values()].filter(
      ({ owner, votes }) =>
        votes > votesOfOwner || (votes === votesOfOwner && tieBreaker(owner) > tieBreaker(own)),
    );
    // Two owners with room beside each other may each keep a larger request waiting at other members, which keeps both
    // of them waiting in turn: only one of them stays.
    const isSeparated = stronger.some((competitor) => !this.hasWon(competitor)) && this.largerWaits();
    return isSeparated || this.leaveNoRoom(stronger);
  }

  private hasWon({ limit, votes }: Competitor): boolean {
    return votes >= votesNeeded(this.members, limit);
  }

  private leaveNoRoom(some: readonly Competitor[]): boolean {
    const { limit, permits } = this.request;
    if (some.some((competitor) => competitor.limit !== limit)) return true;
    // Readers can hold the lock together, but a writer that waits between them at some members separates them.
    if (limit === Infinity) return some.length > 0 && this.otherLimitWaits();
    return permitsOf(some) + permits > limit;
  }

  /** Whether an owner with another limit waits, such as a writer among readers. */
  private otherLimitWaits(): boolean {
    for (const { limit } of this.waiting.values()) if (limit !== this.request.limit) return true;
    return false;
  }

  /** Whether an owner without votes waits for more permits than this one. */
  private largerWaits(): boolean {
    for (const [owner, { permits }] of this.waiting) {
      if (permits > this.request.permits && !this.found.has(owner)) return true;
    }
    return false;
  }
}

/** A hash (FNV-1a) that breaks ties: as good as random, and the same for every process. */
function tieBreaker(owner: OwnerId): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < owner.length; index++) {
    hash = Math.imul(hash ^ owner.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
