import type { AtRevision, TransactionReply } from '../protocol/replies.js';
import type { Condition, PutCall, RangeCall, Transaction } from '../protocol/requests.js';
import { storeFailure } from '../../port/store-failure.js';

/** Tokens that each revision of etcd has. */
export const TOKENS_PER_REVISION = 128;

/**
 * Makes tokens of the revisions of etcd, which grow with everything that is written. Should etcd lose its data they begin
 * anew, so that they are counted from a time: that at which somebody found no base.
 */
export class TokenBase {
  private value: string | undefined;
  private last = 0;

  constructor(private readonly name: string) {}

  /** That the base is still the one that is known. */
  get condition(): Condition {
    return { key: this.name, value: this.value ?? '' };
  }

  get range(): RangeCall {
    return { do: 'range', key: this.name };
  }

  /** Writes a base if there is none. */
  get founding(): Transaction {
    // Larger than all tokens of which this process knows, should its clock be slow.
    const value = String(Math.max(Date.now() * 1_000, this.last + TOKENS_PER_REVISION));
    const put: PutCall = { do: 'put', key: this.name, value, lease: 0 };
    return { do: 'txn', if: [{ key: this.name, created: 0 }], then: [put, this.range], else: [this.range] };
  }

  /** Answers whether this is another one than was known. */
  founded({ reply }: AtRevision<TransactionReply>): boolean {
    const range = reply.replies.at(-1);
    return range?.do === 'range' && this.learn(range.entries[0]?.value);
  }

  /** Whether this is another one than was known. */
  learn(value: string | undefined): boolean {
    if (value === undefined || value === this.value) return false;
    if (!/^\d+$/.test(value) || !Number.isSafeInteger(Number(value))) {
      throw storeFailure(
        `${this.name} in etcd has to hold the number from which tokens are counted, and is ${JSON.stringify(value.slice(0, 40))}. ` +
          'Put a number there that is larger than all tokens that your data has',
      );
    }
    this.value = value;
    return true;
  }

  /** The first token of a revision. */
  at(revision: number): number {
    const token = Number(this.value) + revision * TOKENS_PER_REVISION;
    if (!Number.isSafeInteger(token)) throw storeFailure('the base of tokens in etcd leaves no tokens');
    this.last = Math.max(this.last, token);
    return token;
  }
}
