import type { PendingReply } from '../../common/pending-reply.js';
import type { Timer } from '../../common/timer-queue.js';
import type { AskReply, AskRequest, LockStoreError, MonotonicMs } from '../port/lock-store.js';
import { majorityOf } from './majority.js';
import type { MemberState } from './member-state.js';
import type { Vote } from './vote.js';
import { queued } from './vote-tally.js';

/** One request of the engine, as it is put to the members. */
export class QuorumRequest {
  /** Members whose replies are awaited. */
  readonly open = new Set<MemberState>();
  readonly failures: LockStoreError[] = [];
  /** How many members have told where the owner stands. */
  answered = 0;
  /** The limits of others that this owner's does not agree with, as members told. */
  readonly conflicts: number[] = [];
  /** Whether a member keeps the owner out. */
  isCancelled = false;
  /** Whether members that have not replied by now count as missing. */
  hasTimedOut = false;
  timeout: Timer | undefined;

  constructor(
    readonly request: AskRequest,
    readonly sentAt: MonotonicMs,
    readonly replies: readonly PendingReply<AskReply>[],
  ) {}

  /** @param keepsVotes whether members whose grants are surely good are not asked */
  begin(members: readonly MemberState[], keepsVotes: boolean): void {
    for (const member of members) {
      if (keepsVotes && member.endsAt > this.sentAt) this.answered += 1;
      else this.open.add(member);
    }
  }

  onReply(member: MemberState, reply: AskReply | LockStoreError): void {
    if (!this.open.delete(member)) return;
    if (reply instanceof Error) {
      this.failures.push(reply);
      return;
    }
    this.answered += 1;
    this.isCancelled ||= reply.outcome === 'cancelled';
    if (reply.outcome === 'conflict') this.conflicts.push(reply.limit);
  }

  /** The member has to be asked once more, unless it failed. Answers whether that is so. */
  reopen(member: MemberState, hasReplied: boolean): boolean {
    if (hasReplied && !this.open.has(member)) {
      this.open.add(member);
      this.answered -= 1;
    }
    return this.open.has(member);
  }

  /** Members that have not replied by now count as missing, but for those that are known to keep the owner waiting. */
  timeOut(): void {
    this.hasTimedOut = true;
    for (const member of this.open) {
      if (member.keepsWaiting) this.onReply(member, queued(member.holderLeaseLeft));
    }
  }

  /**
   * Whether a vote is worth the whole lease that was asked for: it was given after the request, and for that long. One
   * that was pushed meanwhile is over with its claim lease.
   */
  isAnsweredBy({ startedAt, lease }: Vote): boolean {
    return startedAt >= this.sentAt && lease >= this.request.lease;
  }

  /** Whether a majority has replied, so that it can be said that the lock is held. */
  isAnsweredByMajority(members: number): boolean {
    return this.answered >= majorityOf(members);
  }

  /** What has come of the request, when no further reply can change it; undefined until then. */
  outcome(members: number, needed: number, votes: number): 'conflict' | 'refused' | 'failed' | undefined {
    const open = this.hasTimedOut ? 0 : this.open.size;
    const missing = members - open - this.answered;
    const isAnswered = this.isAnsweredByMajority(members);
    if (this.conflicts.length > members - needed) return 'conflict';
    // Those that are missing could not change it.
    if (isAnswered && votes + open + missing < needed) return 'refused';
    // The others may still tell that the lock is held, whatever the missing ones would say.
    const mayBeHeld = members - missing >= majorityOf(members) && open > 0 && votes + missing < needed;
    if (missing > members - needed && !mayBeHeld) return 'failed';
    return isAnswered && (open === 0 || votes + open < needed) ? 'refused' : undefined;
  }

  get conflict(): AskReply {
    return { outcome: 'conflict', limit: this.conflicts[0] ?? 1 };
  }

  resolve(reply: AskReply): void {
    for (const pending of this.replies) pending.resolve(reply);
  }

  reject(error: LockStoreError): void {
    for (const pending of this.replies) pending.reject(error);
  }
}
