import type { MonotonicMs } from '../../stores/port/lock-store.js';

/** The most hand-overs in a row while other processes may be waiting. */
const MAX_LOCAL_HANDOVERS = 64;
/** The longest time for these hand-overs, ms. */
export const MAX_LOCAL_TENURE = 50;

/** The most tokens that one request reserves: one for the hold it is sent with, and one for each hand-over. */
export const TOKEN_BLOCK = MAX_LOCAL_HANDOVERS + 1;
/** The same for readers, which are limited by time only. Every store can reserve this many at once. */
export const READER_BLOCK = 127;

/** The most tokens that one request may reserve for a lock with this limit. */
export function maxTokens(limit: number): number {
  return limit === Infinity ? READER_BLOCK : TOKEN_BLOCK;
}

/**
 * How many tokens to reserve while this many callers wait. Unused tokens are lost, and more than a million per second
 * would overtake the clock that the counter starts from, so few callers reserve few tokens. The permits of a
 * semaphore divide the callers among themselves; each caller counts twice, so that no permit runs out of tokens before
 * the others.
 */
export function tokensFor(callers: number, limit: number): number {
  return Math.min(maxTokens(limit), 8 + (limit === 1 ? 4 : 8) * callers);
}

/**
 * How often a lease may still pass from one caller of this process to the next before other processes get their turn.
 * Every grant and every reservation reports whether other processes wait. If none did, the count restarts at the moment when that request was sent; otherwise it continues.
 */
export class HandOverBudget {
  /** Callers that joined up to this time come before those of all other processes. */
  settledAt: MonotonicMs;
  private handOvers = 0;
  private isReserving = false;
  private reservingSince = -Infinity;
  private hasFailed = false;
  /** Size of the last block of tokens. */
  private block: number;
  /** Hand-overs before the pending reservation was sent. */
  private handOversWhenSent = 0;

  /**
   * @param nextToken the first token that no hold has used
   * @param tokensLeft how many tokens are left, beginning with `nextToken`
   * @param areOthersWaiting whether other processes are known to wait
   * @param countedFrom since when they may be waiting
   * @param knownAt when no other process was known to wait, if none is
   * @param maxHandOvers the most hand-overs in a row while other processes may be waiting
   * @param tenure the longest time for these, ms
   */
  constructor(
    private nextToken: number,
    private tokensLeft: number,
    public areOthersWaiting: boolean,
    private countedFrom: MonotonicMs,
    knownAt = countedFrom,
    private readonly maxHandOvers = MAX_LOCAL_HANDOVERS,
    private readonly tenure = MAX_LOCAL_TENURE,
  ) {
    this.block = tokensLeft;
    this.settledAt = areOthersWaiting ? (-Infinity as MonotonicMs) : knownAt;
  }

  /** When this process has to let other processes have the lease. */
  get endsAt(): MonotonicMs {
    return (this.countedFrom + this.tenure) as MonotonicMs;
  }

  /** Until when readers may wait for the pending reservation instead of queueing in the store. */
  get awaitedUntil(): MonotonicMs {
    if (!this.isReserving || this.areOthersWaiting) return this.endsAt;
    return Math.max(this.endsAt, this.reservingSince + MAX_LOCAL_TENURE) as MonotonicMs;
  }

  /** Whether only a reservation can show if other processes wait, and one is worth sending. */
  get mayReserve(): boolean {
    return !this.isReserving && !this.areOthersWaiting && !this.hasFailed;
  }

  /** Whether there are no tokens left and the last reservation failed. */
  get isSpent(): boolean {
    return this.tokensLeft === 0 && this.hasFailed && !this.isReserving;
  }

  /**
   * Whether the lease may pass to another caller of this process.
   *
   * @param isFirst whether that caller comes before those of all other processes in strict order, so that it delays none
   */
  mayPass(now: MonotonicMs, isFirst = false): boolean {
    if (this.tokensLeft === 0) return false;
    return isFirst || (this.handOvers < this.maxHandOvers && now < this.endsAt);
  }

  /** Whether only tokens are missing, and none have been requested. */
  isOutOfTokens(isFirst: boolean): boolean {
    if (this.tokensLeft > 0 || this.isReserving || this.hasFailed) return false;
    return isFirst || this.handOvers < this.maxHandOvers;
  }

  /** Whether the pending reservation is likely to let the lease pass on. */
  isAwaited(now: MonotonicMs): boolean {
    return (
      this.isReserving && now < this.endsAt && (!this.areOthersWaiting || this.handOvers < this.maxHandOvers)
    );
  }

  /** Counts a hand-over; returns the token of the next hold. */
  pass(): number {
    this.handOvers += 1;
    this.tokensLeft -= 1;
    const token = this.nextToken;
    this.nextToken += 1;
    return token;
  }

  /**
   * Whether to reserve now, so that the reply arrives before the budget runs out.
   *
   * @param isFirst whether the next caller comes before those of all other processes in strict order
   */
  shouldReserve(now: MonotonicMs, isFirst = false): boolean {
    if (this.isReserving) return false;
    const left = this.maxHandOvers - this.handOvers;
    // Other processes get their turn soon in any case: reserve only if the tokens would not last until then.
    if (this.areOthersWaiting)
      return (isFirst || left > this.tokensLeft) && this.tokensLeft <= this.block / 4;
    return (
      this.tokensLeft <= this.block / 4 ||
      left < MAX_LOCAL_HANDOVERS / 4 ||
      now > this.endsAt - MAX_LOCAL_TENURE / 2
    );
  }

  reserving(now: MonotonicMs): void {
    this.isReserving = true;
    this.reservingSince = now;
    this.handOversWhenSent = this.handOvers;
  }

  /** The store reserved tokens, in reply to a request sent at `sentAt`. */
  reserved(token: number, tokens: number, othersWait: boolean, sentAt: MonotonicMs): void {
    this.isReserving = this.hasFailed = false;
    this.nextToken = token;
    this.tokensLeft = this.block = tokens;
    this.areOthersWaiting = othersWait;
    if (othersWait) return;
    this.countedFrom = this.settledAt = sentAt;
    this.handOvers -= this.handOversWhenSent;
  }

  /** The store did not reply, or no longer has the lease. */
  reservationFailed(): void {
    this.isReserving = false;
    this.hasFailed = true;
  }
}
