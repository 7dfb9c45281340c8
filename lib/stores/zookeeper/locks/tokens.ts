import { LockStoreError } from '../../port/lock-store.js';

/** How many tokens one transaction gives. */
export const TOKENS_OF_ONE = 128;

/**
 * Tokens grow with the transactions of ZooKeeper. They start from the time at which its path of locks was created, so that
 * they grow on when it has lost its data.
 */
export class Tokens {
  /** @param base µs since the epoch */
  constructor(private readonly base: number) {}

  /** The first of those that a transaction gives. */
  of(zxid: number): number {
    const token = this.base + zxid * TOKENS_OF_ONE;
    if (Number.isSafeInteger(token)) return token;
    throw new LockStoreError(
      'ZooKeeper has elected leaders so often that its transactions have no tokens left; start it anew with empty data',
      { inDoubt: false, retryable: false },
    );
  }
}
