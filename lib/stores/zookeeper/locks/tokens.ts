import { LockStoreError } from '../../port/lock-store.js';

/** How many tokens one transaction gives. */
export const TOKENS_OF_ONE = 128;

/**
 * Tokens grow with the transactions of ZooKeeper. They start from the time at which its path of locks was created, so that
 * they grow on when it has lost its data: each transaction is one of 128 µs. Each election counts as 2^32 transactions, which
 * is six days, so the tokens of an ensemble may be ahead of the time; a client that has seen some starts from these then.
 */
export class Tokens {
  private largest: number;

  /**
   * @param base µs since the epoch, or more where larger tokens were known when it was written
   * @param seen the largest token that this client knows of
   */
  constructor(
    readonly base: number,
    private readonly seen = 0,
  ) {
    this.largest = Math.max(base, seen);
  }

  /** Larger than all that were given here. */
  get next(): number {
    return this.largest + TOKENS_OF_ONE;
  }

  /** The same transactions, counted from elsewhere. */
  from(base: number): Tokens {
    return new Tokens(base, this.largest);
  }

  /** Whether a transaction with that number gives smaller tokens than were seen: data was lost, or a backup restored. */
  fallBackAt(zxid: number): boolean {
    return this.firstOf(zxid) < this.seen;
  }

  /** The first of those that a transaction gives. */
  of(zxid: number): number {
    const token = this.firstOf(zxid);
    if (Number.isSafeInteger(token)) {
      this.largest = Math.max(this.largest, token);
      return token;
    }
    throw new LockStoreError(
      'ZooKeeper has elected leaders so often that its transactions have no tokens left; start it anew with empty data',
      { inDoubt: false, retryable: false },
    );
  }

  private firstOf(zxid: number): number {
    return this.base + zxid * TOKENS_OF_ONE;
  }
}
