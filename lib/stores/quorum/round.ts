import type { Answer } from '../answer.js';
import type { AskReply, AskRequest, LockStoreError, MonotonicMs } from '../lock-store.js';
import type { Pause } from './pauses.js';
import type { Seat } from './seat.js';

/** One question of the engine, as it is put to the members. */
export class Round {
  /** Members whose answers are awaited. */
  readonly open = new Set<Seat>();
  readonly failures: LockStoreError[] = [];
  /** How many members have told where the owner stands. */
  answered = 0;
  /** Whether a member keeps the owner out. */
  isCancelled = false;
  /** Whether members that have not answered by now count as missing. */
  isOver = false;
  limit: Pause | undefined;

  constructor(
    readonly request: AskRequest,
    readonly sentAt: MonotonicMs,
    readonly answers: readonly Answer<AskReply>[],
  ) {}

  heard(seat: Seat, answer: AskReply | LockStoreError): void {
    if (!this.open.delete(seat)) return;
    if (answer instanceof Error) {
      this.failures.push(answer);
      return;
    }
    this.answered += 1;
    this.isCancelled ||= answer.outcome === 'cancelled';
  }

  resolve(reply: AskReply): void {
    for (const answer of this.answers) answer.resolve(reply);
  }

  reject(error: LockStoreError): void {
    for (const answer of this.answers) answer.reject(error);
  }
}
