import type { PendingReply } from '../../common/pending-reply.js';
import type { AskReply, AskRequest, LockStoreError, MonotonicMs } from '../port/lock-store.js';
import { queued } from './vote-tally.js';
import { majorityOf } from './majority.js';
import type { Pause } from './pauses.js';
import type { MemberState, Vote } from './member-state.js';

/** One question of the engine, as it is put to the members. */
export class Round {
  /** Members whose answers are awaited. */
  readonly open = new Set<MemberState>();
  readonly failures: LockStoreError[] = [];
  /** How many members have told where the owner stands. */
  answered = 0;
  /** What members told of the limit of others that this owner's does not go with. */
  readonly conflicts: number[] = [];
  /** Whether a member keeps the owner out. */
  isCancelled = false;
  /** Whether members that have not answered by now count as missing. */
  isOver = false;
  limit: Pause | undefined;

  constructor(
    readonly request: AskRequest,
    readonly sentAt: MonotonicMs,
    readonly answers: readonly PendingReply<AskReply>[],
  ) {}

  heard(seat: MemberState, answer: AskReply | LockStoreError): void {
    if (!this.open.delete(seat)) return;
    if (answer instanceof Error) {
      this.failures.push(answer);
      return;
    }
    this.answered += 1;
    this.isCancelled ||= answer.outcome === 'cancelled';
    if (answer.outcome === 'conflict') this.conflicts.push(answer.limit);
  }

  /** The member has to be asked once more, unless it failed. Answers whether that is so. */
  reopen(seat: MemberState, hasAnswered: boolean): boolean {
    if (hasAnswered && !this.open.has(seat)) {
      this.open.add(seat);
      this.answered -= 1;
    }
    return this.open.has(seat);
  }

  /** Members that have not answered by now count as missing, but for those that are known to keep the owner waiting. */
  end(): void {
    this.isOver = true;
    for (const seat of this.open) if (seat.keepsWaiting) this.heard(seat, queued(seat.holderLeaseLeft));
  }

  /**
   * Whether a vote is worth the whole lease that was asked for: it was given after the question, and for that long. One
   * that was pushed meanwhile is over with its claim lease.
   */
  isAnsweredBy({ startedAt, lease }: Vote): boolean {
    return startedAt >= this.sentAt && lease >= this.request.lease;
  }

  /** Whether a majority has answered, so that it can be said that the lock is held. */
  isAsked(members: number): boolean {
    return this.answered >= majorityOf(members);
  }

  /** What has come of the question, when no further answer can change it; undefined until then. */
  verdict(members: number, needed: number, votes: number): 'conflict' | 'refused' | 'failed' | undefined {
    const open = this.isOver ? 0 : this.open.size;
    const missing = members - open - this.answered;
    if (this.conflicts.length > members - needed) return 'conflict';
    // Those that are missing could not change it.
    if (this.isAsked(members) && votes + open + missing < needed) return 'refused';
    // The others may still tell that the lock is held, whatever those say.
    const mayBeHeld = members - missing >= majorityOf(members) && open > 0 && votes + missing < needed;
    if (missing > members - needed && !mayBeHeld) return 'failed';
    return this.isAsked(members) && (open === 0 || votes + open < needed) ? 'refused' : undefined;
  }

  get conflict(): AskReply {
    return { outcome: 'conflict', limit: this.conflicts[0] ?? 1 };
  }

  resolve(reply: AskReply): void {
    for (const answer of this.answers) answer.resolve(reply);
  }

  reject(error: LockStoreError): void {
    for (const answer of this.answers) answer.reject(error);
  }
}
