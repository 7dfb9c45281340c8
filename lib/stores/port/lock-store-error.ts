/** A request that the store could not answer. A session may reject with nothing but this and what extends it. */
export class LockStoreError extends Error {
  /** Whether the request may have been, or may still be, carried out. */
  readonly inDoubt: boolean;
  /** Whether asking again can help. */
  readonly retryable: boolean;
  /** Whether the store is out of reach: no connection, or no answer. Not so if it answered and refused. */
  readonly unreachable: boolean;
  /** What to do about it, in a sentence for people; undefined if the message says so, or nothing is known. */
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

  /** The message as a sentence, and what to do. */
  get advice(): string {
    return this.remedy === undefined ? `${this.message}.` : `${this.message}. ${this.remedy}`;
  }

  /** JSON leaves the message of an error out by itself. */
  toJSON(): object {
    const { name, message, inDoubt, retryable, unreachable } = this;
    return { name, message, inDoubt, retryable, unreachable };
  }
}

/** The cursor of a listing is none that this store returns. Thrown before anything is sent. */
export class InvalidCursorError extends LockStoreError {
  constructor() {
    super('the cursor is not one that this store returns', { inDoubt: false, retryable: false });
    this.name = 'InvalidCursorError';
  }
}

/** Refuses a cursor that is none. */
export function checkCursor(isCursor: boolean): void {
  if (!isCursor) throw new InvalidCursorError();
}
