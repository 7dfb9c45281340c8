import { sentenceOf } from '../common/sentence.js';

/** A connection of a store's session. */
export interface StoreConnection {
  /** Its purpose or its peer, such as `commands` or `10.0.0.5:6379`; no secrets. */
  readonly name: string;
  readonly isOpen: boolean;
}

export interface ListKeysRequest {
  /** The pattern of the keys: `*` for any characters, `?` for one; every other character stands for itself. */
  readonly match: string;
  /** The cursor of the previous reply; undefined for the first request. */
  readonly cursor: string | undefined;
  /** About how many keys to scan. */
  readonly count: number;
}

/**
 * Identifies a hold by its owner, its token, or both, as `inspect` returns them. Each given field has to match; at
 * least one is given.
 */
export interface NamedHold {
  /** An owner is used for one acquisition, so a later hold of the same process has another one. */
  readonly owner?: string | undefined;
  /** As `inspect` or the handle returns it. */
  readonly token?: number | undefined;
}

/** A request that the store could not carry out. A session may reject only with this and its subclasses. */
export class LockStoreError extends Error {
  /** Whether the request may have been, or may still be, carried out. */
  readonly inDoubt: boolean;
  /** Whether repeating the request can help. */
  readonly retryable: boolean;
  /** Whether the store is unreachable: no connection, or no reply. False if it rejected the request. */
  readonly unreachable: boolean;
  /** What to do about it, in a sentence for display; undefined if the message includes it, or nothing is known. */
  readonly remedy: string | undefined;

  constructor(
    message: string,
    options: {
      readonly inDoubt: boolean;
      readonly retryable: boolean;
      readonly unreachable?: boolean;
      readonly remedy?: string | undefined;
      readonly cause?: unknown;
    },
  ) {
    super(message, { cause: options.cause });
    this.name = 'LockStoreError';
    this.inDoubt = options.inDoubt;
    this.retryable = options.retryable;
    this.unreachable = options.unreachable ?? false;
    this.remedy = options.remedy;
  }

  /** The message as a sentence, followed by the remedy. */
  get advice(): string {
    const sentence = sentenceOf(this.message);
    return this.remedy === undefined ? sentence : `${sentence} ${this.remedy}`;
  }

  /** `JSON.stringify` would omit the message. */
  toJSON(): object {
    const { name, message, inDoubt, retryable, unreachable } = this;
    return { name, message, inDoubt, retryable, unreachable };
  }
}
