import type { AskRequest, MonotonicMs, WallClockMs } from '../../port/lock-store.js';
import { foundIn, type TransactionReply } from '../protocol/replies.js';
import type { Call, Condition, PutCall } from '../protocol/requests.js';
import { writtenEntry } from './entry.js';
import type { LockRange } from './key-names.js';
import type { LockContext } from './lock-context.js';
import { rangeOf, type LockReader, type LockState } from './lock-reader.js';

/** What came of a transaction that puts an entry. */
export interface Attempt extends LockState {
  readonly wasPut: boolean;
  readonly isCancelled: boolean;
}

/** What transactions that ask for locks are made of. */
export class TransactionParts {
  constructor(
    private readonly context: LockContext,
    private readonly reader: LockReader,
  ) {}

  /** What is free and asked for like this is granted in one step. */
  freeConditions(lock: LockRange, request: AskRequest): Condition[] {
    return [{ key: lock.start, end: lock.end, created: 0 }, ...this.ownConditions(request)];
  }

  /** @param since when it was granted; undefined if it waits */
  put(
    lock: LockRange,
    request: AskRequest,
    lease: number,
    since: WallClockMs | undefined,
    offset = 0,
  ): PutCall {
    const { names } = this.context;
    const { limit, owner, callers, label } = request;
    const isHeld = since !== undefined;
    const ms = isHeld ? request.lease : request.claimLease;
    const token = undefined;
    const isKept = isHeld && this.isKept(request);
    const value = writtenEntry({ isHeld, limit, lease: ms, isKept, callers, token, offset, since, label });
    return { do: 'put', key: names.entry(lock, limit, owner), value, lease };
  }

  /** Whether a grant lives as long as its etcd lease is kept alive. */
  isKept({ lease, isRenewed = false }: AskRequest): boolean {
    return isRenewed && lease <= this.context.client.watchdogTimeout;
  }

  /** That no late request of the owner is refused, and tokens are counted from what is known. */
  ownConditions(request: AskRequest): Condition[] {
    return [this.notCancelled(request), this.context.base.condition];
  }

  notCancelled({ key, owner }: AskRequest): Condition {
    return { key: this.context.names.tombstone(key, owner), created: 0 };
  }

  noOtherKind(lock: LockRange, { limit }: AskRequest): Condition[] {
    const kind = this.context.names.kind(lock, limit);
    return [
      { key: lock.start, end: kind, created: 0 },
      { key: `${kind.slice(0, -1)}0`, end: lock.end, created: 0 },
    ];
  }

  absent(lock: LockRange, { limit, owner }: AskRequest): Condition {
    return { key: this.context.names.entry(lock, limit, owner), created: 0 };
  }

  /** What there is to know when nothing was put. */
  whyNot(lock: LockRange, { key, owner }: AskRequest): Call[] {
    const { names, base } = this.context;
    return [rangeOf(lock), { do: 'range', key: names.tombstone(key, owner), countOnly: true }, base.range];
  }

  /**
   * What came of a transaction that puts an entry and looks at it, or tells by {@link whyNot}. If it failed for want of a base
   * of tokens, there is one by then.
   */
  async attemptOf(
    lock: LockRange,
    reply: TransactionReply['replies'][number] | undefined,
    revision: number,
    sentAt: MonotonicMs,
  ): Promise<Attempt> {
    if (reply?.do !== 'txn') foundIn(reply);
    const { succeeded, replies } = reply as TransactionReply;
    if (succeeded) {
      return {
        ...this.reader.stateOf(lock, foundIn(replies[1]), revision, sentAt),
        wasPut: true,
        isCancelled: false,
      };
    }
    const [range, tombstone, base] = replies;
    if (!this.context.base.learn(foundIn(base))) await this.context.base.found();
    return {
      ...this.reader.stateOf(lock, foundIn(range), revision, sentAt),
      wasPut: false,
      isCancelled: tombstone?.do === 'range' && tombstone.count > 0,
    };
  }
}
