import type { EtcdConnection } from '../connection/etcd-connection.js';
import { methods } from '../protocol/methods.js';
import { foundIn, type KeyValue } from '../protocol/replies.js';
import type { Condition, PutCall, RangeCall } from '../protocol/requests.js';
import { storeFailure } from '../../port/store-failure.js';

/** Tokens that each revision of etcd has. */
export const TOKENS_PER_REVISION = 128;

/**
 * Makes tokens of the revisions of etcd, which grow with everything that is written. Should etcd lose its data they begin
 * anew, so that they are counted from a time: that at which a process found no base.
 */
export class TokenBase {
  private value: string | undefined;
  /** The revision at which it was written. */
  private since = 0;
  /** The highest of all answers of etcd. */
  private revision = 0;
  /** No token is larger, as far as this process can know. */
  private highest = 0;
  private founding: Promise<void> | undefined;

  /** @param onChange it is another one than was known: keys were deleted, or etcd has lost its data */
  constructor(
    private readonly name: string,
    private readonly connection: Pick<EtcdConnection, 'call'>,
    private readonly onChange: () => void,
  ) {}

  /** That the base is still the one that is known. */
  get condition(): Condition {
    return { key: this.name, value: this.value ?? '' };
  }

  get range(): RangeCall {
    return { do: 'range', key: this.name };
  }

  /** Learns the base from what was found of it. Answers false if there is none: no lock is granted without it. */
  learn([found]: readonly KeyValue[]): boolean {
    if (found === undefined) return false;
    const { value, modified } = found;
    if (value === this.value) return true;
    if (!/^\d+$/.test(value) || !Number.isSafeInteger(Number(value))) {
      throw storeFailure(
        `${this.name} in etcd has to hold the number from which tokens are counted, and is ${JSON.stringify(value.slice(0, 40))}. ` +
          'Put a number there that is larger than all tokens that your data has',
      );
    }
    const isKnown = this.value !== undefined;
    this.value = value;
    this.since = modified;
    if (isKnown) this.onChange();
    return true;
  }

  /**
   * Writes a base where there is none, or a larger one in place of the one that was found.
   *
   * @param via the connection, if it is not that of the session yet
   */
  found(via = this.connection, found?: KeyValue): Promise<void> {
    this.founding ??= this.foundNow(via, found).finally(() => {
      this.founding = undefined;
    });
    return this.founding;
  }

  /** etcd has answered with that revision. */
  saw(revision: number): void {
    if (revision <= this.revision) return;
    this.revision = revision;
    if (this.value !== undefined) this.highest = Math.max(this.highest, this.at(revision));
  }

  /** A new connection begins with that revision. Answers whether etcd has lost data since. */
  isBehind(revision: number): boolean {
    const isBehind = revision < this.revision;
    this.revision = revision;
    return isBehind;
  }

  /** Whether tokens would be smaller than some that there were, as after a restored snapshot. */
  get isTooSmall(): boolean {
    return this.at(this.revision) < this.highest;
  }

  /** The first token of a revision. */
  at(revision: number): number {
    const token = Number(this.value) + revision * TOKENS_PER_REVISION;
    if (!Number.isSafeInteger(token)) throw storeFailure('the base of tokens in etcd leaves no tokens');
    return token;
  }

  /** The same of what was written then; undefined if another base was in force at the time. */
  writtenAt(revision: number): number | undefined {
    return revision > this.since ? this.at(revision) : undefined;
  }

  private async foundNow(via: Pick<EtcdConnection, 'call'>, found: KeyValue | undefined): Promise<void> {
    // Clocks may differ.
    const value = String(Math.max(Date.now() * 1_000, this.highest + TOKENS_PER_REVISION));
    const put: PutCall = { do: 'put', key: this.name, value, lease: 0 };
    const unchanged: Condition =
      found === undefined ? { key: this.name, created: 0 } : { key: this.name, modified: found.modified };
    const { revision, reply } = await via.call(methods.transaction, {
      do: 'txn',
      if: [unchanged],
      then: [put, this.range],
      else: [this.range],
    });
    this.learn(foundIn(reply.replies.at(-1)));
    this.saw(revision);
  }
}
