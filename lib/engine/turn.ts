import type { MonotonicMs } from '../stores/port/lock-store.js';

/** The most hand-overs in a row while other processes may be waiting. */
const MAX_HAND_OVERS = 64;
/** The longest time for these hand-overs, ms. */
export const TENURE = 50;

/** The most tokens that one request reserves: one for the hold it is sent with, and one for each hand-over. */
const TOKEN_BLOCK = MAX_HAND_OVERS + 1;
/** The same for readers, which are limited by time only. Every store can reserve this many at once. */
const READER_BLOCK = 127;

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

/** A call, as far as its place among those of other processes matters. */
interface Caller {
  readonly fair: boolean;
  readonly limit: number;
  readonly joinedAt: MonotonicMs;
}

/** How many hand-overs a turn may have, and how long it lasts. */
export interface TurnBounds {
  readonly handOvers?: number | undefined;
  readonly tenure?: number | undefined;
}

/**
 * How often a held ticket may still pass from one hold of this process to the next before other processes get their turn.
 * Every grant and every reservation reports whether other processes wait. If none did, the count restarts at the moment
 * when that request was sent; otherwise it continues.
 *
 * | state of the turn | event                    | what follows                                                     |
 * | ----------------- | ------------------------ | ---------------------------------------------------------------- |
 * | own               | the ticket passes on     | own, with one token and one hand-over fewer                      |
 * |                   | a reservation is sent    | reserving                                                        |
 * | reserving         | the ticket passes on     | reserving, as long as there are tokens                           |
 * |                   | reserved, no others wait | own: new tokens; hand-overs count from when the request was sent |
 * |                   | reserved, others wait    | own: new tokens; the count continues                             |
 * |                   | the reservation fails    | failed, or spent if there are no tokens left                     |
 * | failed            | the ticket passes on     | failed, or spent after the last token                            |
 * | failed, spent     | a reservation is sent    | reserving                                                        |
 * | spent             | the hold ends            | the ticket goes back to the store                                |
 */
export class Turn {
  /** Callers that joined up to this time come before those of all other processes. */
  private firstUntil: MonotonicMs;
  private reservation: 'none' | 'pending' | 'failed' = 'none';
  private reservedAt = -Infinity;
  private handOvers = 0;
  /** Hand-overs before the pending reservation was sent. */
  private handOversWhenSent = 0;
  /** Size of the last block of tokens. */
  private block: number;
  private readonly most: number;
  private readonly tenure: number;

  /**
   * @param nextToken the first token that no hold has used
   * @param tokensLeft how many tokens are left, beginning with `nextToken`
   * @param othersWait whether other processes are known to wait
   * @param countedFrom since when they may be waiting
   * @param knownAt when no other process was known to wait, if none is
   */
  constructor(
    private nextToken: number,
    private tokensLeft: number,
    public othersWait: boolean,
    private countedFrom: MonotonicMs,
    knownAt = countedFrom,
    { handOvers = MAX_HAND_OVERS, tenure = TENURE }: TurnBounds = {},
  ) {
    this.most = handOvers;
    this.tenure = tenure;
    this.block = tokensLeft;
    this.firstUntil = othersWait ? (-Infinity as MonotonicMs) : knownAt;
  }

  get state(): 'own' | 'reserving' | 'failed' | 'spent' {
    if (this.reservation === 'pending') return 'reserving';
    if (this.reservation === 'none') return 'own';
    return this.tokensLeft > 0 ? 'failed' : 'spent';
  }

  /** When this process has to let other processes have the lock. */
  get endsAt(): MonotonicMs {
    return (this.countedFrom + this.tenure) as MonotonicMs;
  }

  /** Until when readers may wait for the pending reservation instead of queueing in the store. */
  get awaitedUntil(): MonotonicMs {
    if (this.reservation !== 'pending' || this.othersWait) return this.endsAt;
    return Math.max(this.endsAt, this.reservedAt + TENURE) as MonotonicMs;
  }

  /**
   * Whether a hold of this caller delays no earlier caller of another process beyond the limits. A caller in strict order
   * must have joined before any other process waited; so must a reader if other processes wait.
   */
  isInTurn({ fair, limit, joinedAt }: Caller): boolean {
    if (!fair && (limit !== Infinity || !this.othersWait)) return true;
    return joinedAt <= this.firstUntil;
  }

  /** Whether the ticket may pass to this caller, which is in turn. */
  mayPass(caller: Caller, now: MonotonicMs): boolean {
    if (this.tokensLeft === 0) return false;
    return this.isFirst(caller) || (this.handOvers < this.most && now < this.endsAt);
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
   * Whether this caller depends on a reservation that has to be sent now: no tokens are left for it, or only the store
   * knows whether another process comes first.
   *
   * @param maySurpassTime whether the caller shares the ticket with other readers, whose time has passed
   */
  mustReserve(caller: Caller, isInTurn: boolean, now: MonotonicMs): boolean {
    if (this.reservation !== 'none') return false;
    if (!this.othersWait && (!isInTurn || (caller.limit === Infinity && now >= this.endsAt))) return true;
    return this.tokensLeft === 0 && (this.isFirst(caller) || this.handOvers < this.most);
  }

  /**
   * Whether to reserve now, so that the reply arrives before the tokens or the time run out.
   *
   * @param next the next caller, if one is known
   */
  shouldReserve(next: Caller | undefined, now: MonotonicMs): boolean {
    if (this.reservation === 'pending') return false;
    const left = this.most - this.handOvers;
    const isLow = this.tokensLeft <= this.block / 4;
    // Other processes get their turn soon in any case: reserve only if the tokens would not last until then.
    if (this.othersWait)
      return isLow && (left > this.tokensLeft || (next !== undefined && this.isFirst(next)));
    return isLow || left < MAX_HAND_OVERS / 4 || now > this.endsAt - TENURE / 2;
  }

  /** Whether the pending reservation is likely to let the ticket pass on. */
  isAwaited(now: MonotonicMs): boolean {
    const isPending = this.reservation === 'pending' && now < this.endsAt;
    return isPending && (!this.othersWait || this.handOvers < this.most);
  }

  reserving(now: MonotonicMs): void {
    this.reservation = 'pending';
    this.reservedAt = now;
    this.handOversWhenSent = this.handOvers;
  }

  /** The store reserved tokens, in reply to a request sent at `sentAt`. */
  reserved(token: number, tokens: number, othersWait: boolean, sentAt: MonotonicMs): void {
    this.reservation = 'none';
    this.nextToken = token;
    this.tokensLeft = this.block = tokens;
    this.othersWait = othersWait;
    if (othersWait) return;
    this.countedFrom = this.firstUntil = sentAt;
    this.handOvers -= this.handOversWhenSent;
  }

  /** The store did not reply, or no longer has the ticket. */
  reservationFailed(): void {
    this.reservation = 'failed';
  }

  /** Whether the caller wants strict order and comes before those of all other processes, so that their limits don't apply. */
  private isFirst({ fair, joinedAt }: Caller): boolean {
    return fair && joinedAt <= this.firstUntil;
  }
}
