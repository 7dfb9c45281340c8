import type { MonotonicMs } from '../../stores/port/lock-store.js';

/** Hand-overs in a row at most while other processes may be waiting (P20). */
export const MAX_LOCAL_HANDOVERS = 64;
/** For how long at most, ms (P20). */
export const MAX_LOCAL_TENURE = 50;

/** The most tokens that are asked for at a time: for the hold that they come with, and for each hand-over. */
export const TOKEN_BLOCK = MAX_LOCAL_HANDOVERS + 1;
/** The same for readers, whom only time bounds (P25): what every store can give at once. */
export const READER_BLOCK = 127;

/** The most tokens to ask for at a time. */
export function mostTokens(limit: number): number {
  return limit === Infinity ? READER_BLOCK : TOKEN_BLOCK;
}

/**
 * How many tokens to ask for when so many callers stand in line; for shares of a semaphore: for each of them. Few callers
 * get few, since what is reserved in vain is lost, and more than a million tokens a second would run ahead of the clock
 * (P3). Shares share the callers, so that each of these counts twice.
 */
export function tokensFor(callers: number, limit: number): number {
  return Math.min(mostTokens(limit), 8 + (limit === 1 ? 4 : 8) * callers);
}

/**
 * How often a lock may still pass from one caller of this process to the next before other processes get their turn
 * (P20). The store tells with each grant and each reservation whether others wait. If none did, the count starts anew
 * from the moment at which the store was asked; if some did, it goes on.
 */
export class CohortBudget {
  /** Callers who asked up to then come before those of all other processes (P26). */
  settledAt: MonotonicMs;
  private handOvers = 0;
  private reserving = false;
  private askedAt = -Infinity;
  private hasFailed = false;
  /** How many tokens came at once the last time. */
  private block: number;
  /** How many of the hand-overs were before the store was asked. */
  private countedWhenAsked = 0;

  /**
   * @param nextToken the first token that no hold has had
   * @param spare how many tokens there are from it on
   * @param othersWait whether other processes are known to wait
   * @param countedFrom since when they may be waiting
   * @param knownAt when it was known that none waits, if none does
   * @param most hand-overs in a row while others may be waiting
   */
  constructor(
    private nextToken: number,
    private spare: number,
    private othersWait: boolean,
    private countedFrom: MonotonicMs,
    knownAt = countedFrom,
    private readonly most = MAX_LOCAL_HANDOVERS,
  ) {
    this.block = spare;
    this.settledAt = othersWait ? (-Infinity as MonotonicMs) : knownAt;
  }

  /** Whether other processes are known to wait. */
  get areOthersWaiting(): boolean {
    return this.othersWait;
  }

  /** When the process has had the lock for as long as it may keep it from others. */
  get endsAt(): MonotonicMs {
    return (this.countedFrom + MAX_LOCAL_TENURE) as MonotonicMs;
  }

  /** Until when an answer that is on its way may be waited for by those who need it to begin. */
  get awaitedUntil(): MonotonicMs {
    if (!this.reserving || this.othersWait) return this.endsAt;
    return Math.max(this.endsAt, this.askedAt + MAX_LOCAL_TENURE) as MonotonicMs;
  }

  /** Whether it can't be told whether others wait unless the store is asked, which is worth a try. */
  get mayAsk(): boolean {
    return !this.reserving && !this.othersWait && !this.hasFailed;
  }

  /** Whether nothing more is to be had from it: there are no tokens, and the store could not be asked for some. */
  get isSpent(): boolean {
    return this.spare === 0 && this.hasFailed && !this.reserving;
  }

  /**
   * Whether the lock may pass to another caller of this process.
   *
   * @param isFirst whether that caller is before all of other processes in strict order, so that it keeps nobody waiting (P26)
   */
  mayPass(now: MonotonicMs, isFirst = false): boolean {
    if (this.spare === 0) return false;
    return isFirst || (this.handOvers < this.most && now < this.endsAt);
  }

  /** Whether the lock can't pass for want of tokens, and none are on their way. */
  isOut(isFirst: boolean): boolean {
    if (this.spare > 0 || this.reserving || this.hasFailed) return false;
    return isFirst || this.handOvers < this.most;
  }

  /** Whether an answer is on its way by which the lock may well pass on, so that it is better kept than given back. */
  isAwaited(now: MonotonicMs): boolean {
    return this.reserving && now < this.endsAt && (!this.othersWait || this.handOvers < this.most);
  }

  /** The token of the next hold. */
  pass(): number {
    this.handOvers += 1;
    this.spare -= 1;
    const token = this.nextToken;
    this.nextToken += 1;
    return token;
  }

  /**
   * Whether it is time to ask for more, so that the answer is there before the turns are over.
   *
   * @param isFirst whether the next caller is before all of other processes in strict order
   */
  wantsMore(now: MonotonicMs, isFirst = false): boolean {
    if (this.reserving) return false;
    const left = this.most - this.handOvers;
    // Others get their turn soon anyway: only if the tokens would not last until then.
    if (this.othersWait) return (isFirst || left > this.spare) && this.spare <= this.block / 4;
    return (
      this.spare <= this.block / 4 ||
      left < MAX_LOCAL_HANDOVERS / 4 ||
      now > this.endsAt - MAX_LOCAL_TENURE / 2
    );
  }

  asking(now: MonotonicMs): void {
    this.reserving = true;
    this.askedAt = now;
    this.countedWhenAsked = this.handOvers;
  }

  /** The store brought more tokens; it was asked at `sentAt`. */
  renewed(token: number, tokens: number, othersWait: boolean, sentAt: MonotonicMs): void {
    this.reserving = this.hasFailed = false;
    this.nextToken = token;
    this.spare = this.block = tokens;
    this.othersWait = othersWait;
    if (othersWait) return;
    this.countedFrom = this.settledAt = sentAt;
    this.handOvers -= this.countedWhenAsked;
  }

  /** The store did not answer, or no longer has the lock. */
  failed(): void {
    this.reserving = false;
    this.hasFailed = true;
  }
}
