import { LockStoreError } from '../port/lock-store.js';
import { TOKENS_PER_REVISION } from './ordered-driver.js';

/** How far a raised base is ahead, µs: a change of the base interrupts every client. */
const SPARE = 10_000_000;

/**
 * Derives tokens from the revisions of a store, which grow with every write. They are added to a base: the time, µs, at
 * which a client found that there was none. So tokens still grow after the store has lost its data, and its revisions
 * start again. A client that has seen larger tokens raises the base.
 */
export class TokenBase {
  private base = 0;
  /** The last revision that is known to have this base. */
  private revision = 0;
  /** The largest token that this client knows. */
  private largest = 0;

  /**
   * @param place of the base, for display
   * @param advice what an operator does if it is not a number
   */
  constructor(
    private readonly place: string,
    private readonly advice: string,
  ) {}

  /** The first token of a revision. */
  tokenOf(revision: number): number {
    const token = this.base + revision * TOKENS_PER_REVISION;
    if (!Number.isSafeInteger(token)) {
      throw new LockStoreError(
        `the revisions of ${this.place} leave no tokens: start the store again with empty data`,
        { inDoubt: false, retryable: false },
      );
    }
    this.saw(revision);
    return token;
  }

  /** Other clients may have tokens of this revision. */
  saw(revision: number): void {
    this.revision = Math.max(this.revision, revision);
    this.largest = Math.max(this.largest, this.base + revision * TOKENS_PER_REVISION);
  }

  /** Whether later tokens are larger than `floor`. If not, `adopt` returns a larger base. */
  isAbove(floor: number): boolean {
    if (this.base + this.revision * TOKENS_PER_REVISION > floor) return true;
    this.largest = Math.max(this.largest, floor + SPARE);
    return false;
  }

  /** The base to write if there is none. */
  get first(): string {
    // If the store has lost its data, earlier tokens may be ahead of the time.
    return String(Math.max(Date.now() * 1_000, this.largest + TOKENS_PER_REVISION));
  }

  /** Whether this is the base in use. */
  is(text: string | undefined): boolean {
    return text !== undefined && this.read(text) === this.base;
  }

  /**
   * Uses the base that was found.
   *
   * @param revision the current one
   * @returns a larger base to write instead, because tokens would be smaller than earlier ones
   */
  adopt(text: string, revision: number): string | undefined {
    const base = this.read(text);
    if (base + revision * TOKENS_PER_REVISION < this.largest) {
      return String(Math.max(base, this.largest) + TOKENS_PER_REVISION);
    }
    this.base = base;
    this.revision = revision;
    this.largest = Math.max(this.largest, base);
    return undefined;
  }

  private read(text: string): number {
    const base = /^\d+$/.test(text) ? Number(text) : NaN;
    if (Number.isSafeInteger(base)) return base;
    throw new LockStoreError(
      `${this.place} must be the number from which tokens are counted, but is ${JSON.stringify(text.slice(0, 40))}. ` +
        `Write a number there that is larger than all tokens in your data${this.advice}`,
      { inDoubt: false, retryable: true },
    );
  }
}
