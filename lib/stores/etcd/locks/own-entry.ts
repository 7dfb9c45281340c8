import type { Timer } from '../../../common/timer-queue.js';
import type { AskRequest, MonotonicMs, OwnerId, RenewReply, WallClockMs } from '../../port/lock-store.js';
import type { EntryValue } from './entry.js';
import type { LockRange } from './key-names.js';

/** A renewal that is held back for a moment: the hold may be over by then. */
export interface PendingClaim {
  readonly lease: number;
  readonly isRenewed: boolean;
  readonly resolve: (reply: RenewReply) => void;
  readonly reject: (error: unknown) => void;
}

/** What a session knows of an owner of its own that has an entry in etcd. */
export class OwnEntry implements Timer {
  heapIndex = -1;
  dueAt = 0 as MonotonicMs;

  readonly key: string;
  readonly owner: OwnerId;
  readonly limit: number;
  callers: number;
  label: string | undefined;
  /** How many tokens a grant should bring. */
  tokens: number;
  claimLease: number;

  isHeld = false;
  /** Whether it holds the lock without having written so. */
  isUnwritten = false;
  /** See {@link EntryValue.isKept}. */
  isKept = false;
  /** Whether the engine has not claimed the grant yet. */
  isUnclaimed = false;
  token: number | undefined;
  /** See {@link EntryValue.offset}. */
  offset = 0;
  since: WallClockMs | undefined;
  /** When its lease is over, at the latest; of one that waits, when it has been silent for too long. */
  endsAt = 0 as MonotonicMs;
  /** The same, as renewals that are under way may have it. */
  willEndAt = 0 as MonotonicMs;
  /** When a request was sent by whose answer it did not hold the lock yet. */
  waitedAt: MonotonicMs | undefined;
  claim: PendingClaim | undefined;
  /** Requests under way that renew it. */
  writing = 0;
  /** The last write that is under way: they go one after the other, since requests overtake each other. */
  lastWrite: Promise<unknown> | undefined;

  /**
   * @param created the revision at which it was put
   * @param modified the revision at which it was put last, as far as the session knows
   * @param leaseId the etcd lease that it lives on, as far as the session knows
   */
  constructor(
    readonly lock: LockRange,
    readonly name: string,
    request: AskRequest,
    readonly created: number,
    public modified: number,
    public leaseId: number,
    private readonly onDue: (entry: OwnEntry, now: MonotonicMs) => void,
  ) {
    this.key = request.key;
    this.owner = request.owner;
    this.limit = request.limit;
    this.callers = request.callers;
    this.label = request.label;
    this.tokens = request.tokens;
    this.claimLease = request.claimLease;
  }

  fire(now: MonotonicMs): void {
    this.onDue(this, now);
  }

  /** What to write of it. */
  valueFor(isHeld: boolean, lease: number, isKept = false): EntryValue {
    const { limit, callers, token, offset, since, label } = this;
    return { isHeld, limit, lease, isKept, callers, token, offset, since, label };
  }
}
