import { storeFailure } from '../../port/store-failure.js';
import type { EtcdConnection } from '../connection/etcd-connection.js';
import {
  foundIn,
  methods,
  type Condition,
  type KeyValue,
  type PutCall,
  type RangeCall,
} from '../connection/protocol.js';

/** How many tokens each revision of etcd provides. */
export const TOKENS_PER_REVISION = 128;

/**
 * Derives tokens from etcd's revisions, which grow with every write. A cluster that lost its data starts again at
 * revision 1, so tokens are added to a base: the time at which a process found that there was no base.
 */
export class TokenBase {
  private value: string | undefined;
  private since = 0;
  /** The highest revision of all replies. */
  private revision = 0;
  /** The highest token that this process knows. */
  private highest = 0;
  private creating: Promise<void> | undefined;

  /** @param onChange the base was replaced: keys were deleted, or etcd has lost its data */
  constructor(
    private readonly name: string,
    private readonly connection: Pick<EtcdConnection, 'call'>,
    private readonly onChange: () => void,
  ) {}

  /** Requires that the base has not changed. */
  get condition(): Condition {
    return { key: this.name, value: this.value ?? '' };
  }

  get range(): RangeCall {
    return { do: 'range', key: this.name };
  }

  /** Reads the base from the result of {@link range}. False if there is none: no lock is granted without it. */
  learn([found]: readonly KeyValue[]): boolean {
    if (found === undefined) return false;
    const { value, modified } = found;
    if (value === this.value) return true;
    if (!/^\d+$/.test(value) || !Number.isSafeInteger(Number(value))) {
      throw storeFailure(
        `${this.name} in etcd must be the number from which tokens are counted, but is ${JSON.stringify(value.slice(0, 40))}. ` +
          'Put a number there that is larger than all tokens in your data',
      );
    }
    const isReplaced = this.value !== undefined;
    this.value = value;
    this.since = modified;
    if (isReplaced) this.onChange();
    return true;
  }

  /**
   * Creates the base if it does not exist, or replaces the one that was found by a larger one. Concurrent calls use one
   * request.
   *
   * @param via the connection, if it is still being prepared
   */
  create(via = this.connection, found?: KeyValue): Promise<void> {
    this.creating ??= this.createNow(via, found).finally(() => {
      this.creating = undefined;
    });
    return this.creating;
  }

  /** Records the revision of a reply. */
  saw(revision: number): void {
    if (revision <= this.revision) return;
    this.revision = revision;
    if (this.value !== undefined) this.highest = Math.max(this.highest, this.at(revision));
  }

  /** Records the first revision of a new connection. @returns whether etcd has lost data since */
  isBehind(revision: number): boolean {
    const isBehind = revision < this.revision;
    this.revision = revision;
    return isBehind;
  }

  /** Whether tokens would be smaller than earlier ones, as after restoring a snapshot. */
  get isTooSmall(): boolean {
    return this.at(this.revision) < this.highest;
  }

  /** The first token of a revision. */
  at(revision: number): number {
    const token = Number(this.value) + revision * TOKENS_PER_REVISION;
    if (!Number.isSafeInteger(token)) throw storeFailure('the base of tokens in etcd leaves no tokens');
    return token;
  }

  /** The first token of a write at this revision; undefined if it was made under another base. */
  writtenAt(revision: number): number | undefined {
    return revision > this.since ? this.at(revision) : undefined;
  }

  private async createNow(via: Pick<EtcdConnection, 'call'>, found: KeyValue | undefined): Promise<void> {
    // The clock of this machine may be behind that of the process which created the last base.
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
