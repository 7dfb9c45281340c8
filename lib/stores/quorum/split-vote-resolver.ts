import type { Timer } from '../../common/timer-queue.js';
import type { AskRequest, OwnerId } from '../port/lock-store.js';
import { asked } from '../port/store-failure.js';
import { Competitors } from './competitors.js';
import type { MemberState } from './member-state.js';
import type { QuorumContext } from './quorum-context.js';

/** How long a grant that is no majority is kept before the first look at the others, ms. */
const FIRST_LOOK = 20;
/** How long an owner that gives way stays away at most the first time, ms. */
const FIRST_BACK_OFF = 20;
/** To what both grow, ms. */
const MAX_PAUSE = 500;

/** An owner that has the votes of some members. */
export interface ContestedAcquire {
  readonly key: string;
  readonly owner: OwnerId;
  readonly limit: number;
  /** The last request of the engine. */
  readonly latest: AskRequest;
  readonly state: 'waiting' | 'granted' | 'ended';
  readonly members: readonly MemberState[];
  /** Members whose grants are surely good now. */
  readonly voters: readonly MemberState[];
  send(member: MemberState): void;
  /** Takes the owner back from one member. */
  cancelAt(member: MemberState): void;
  /** Takes the owner back from all members, until it queues again. */
  backOff(): void;
  /** Queues where the owner has no place. */
  requeue(): void;
}

/**
 * Resolves a split vote: members whose queues have another order have granted the lock to different owners, and nobody
 * has a majority. Each of those looks who has how many votes. The one with the most keeps what it has, and so do those
 * that have room beside it; the others leave all members, which pass the lock to their next waiters, and queue again
 * together a little later: then the orders agree. While somebody has won, so that there is no room, the others keep
 * what they have, and wait.
 */
export class SplitVoteResolver {
  private timer: Timer | undefined;
  private isLooking = false;
  private backingOff = false;
  private looks = 0;
  private backOffs = 0;

  constructor(
    private readonly acquire: ContestedAcquire,
    private readonly context: QuorumContext,
  ) {}

  /** Whether the owner has left the members for a moment. */
  get isBackingOff(): boolean {
    return this.backingOff;
  }

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
    this.backingOff = false;
    this.looks = this.backOffs = 0;
  }

  /** ms in which a grant that nobody claims is not over yet: neither pauses nor silent members may take longer. */
  private get maxDelay(): number {
    return this.acquire.latest.claimLease / 4;
  }

  private async look(): Promise<void> {
    const { acquire, context } = this;
    const { members, owner, key, limit } = acquire;
    this.isLooking = true;
    const own = new Set(acquire.voters);
    const competitors = new Competitors(owner, limit, members.length);
    const found: MemberState[] = [];
    const inspections = members.map(async (member, index) => {
      // Nobody is beside it where the owner has all of the lock.
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
    // The message was lost, or is late: asking claims the grant.
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
    this.backingOff = true;
    acquire.backOff();
    const longest = Math.min(FIRST_BACK_OFF * 2 ** this.backOffs, MAX_PAUSE);
    this.backOffs += 1;
    this.looks = 0;
    this.timer = context.timers.after(1 + Math.random() * longest, () => {
      this.timer = undefined;
      this.backingOff = false;
      acquire.requeue();
    });
  }

  /** Grants that nobody claims end soon; these are kept for as long as the split lasts. */
  private renewVotes(): void {
    const { acquire, context } = this;
    const { key, latest } = acquire;
    const { claimLease } = latest;
    for (const [index, member] of acquire.members.entries()) {
      const startedAt = context.client.now();
      // A renewal must not make a lease shorter that lasts longer than a claim does.
      const isShort = member.endsAt - startedAt <= Math.min(2 * MAX_PAUSE, claimLease);
      if (member.vote === undefined || !isShort) continue;
      const { owner } = member;
      asked(async () => await context.sessions[index]?.renew([{ key, owner, lease: claimLease }])).then(
        (replies) => {
          if (member.owner !== owner) return;
          const [reply] = replies ?? [];
          if (reply === 'renewed') member.onRenewed(startedAt, { lease: claimLease }, undefined);
          else if (reply === 'gone' || reply === 'taken') {
            acquire.cancelAt(member);
            if (acquire.state === 'waiting') acquire.send(member);
          }
        },
        () => undefined, // Tried again at the next look.
      );
    }
  }
}
