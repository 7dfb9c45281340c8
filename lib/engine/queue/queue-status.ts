import type { LockStoreError, MonotonicMs } from '../../stores/port/lock-store.js';

/** What was heard longer ago than this, ms, says nothing any more about who holds the lock, without a place in its queue. */
const OLD = 250;

/** What the store has told of one key, or has not (B11). */
export class QueueStatus {
  /** Whether it has answered. */
  answered = false;
  /** Why the last request failed, if it did. */
  failure: LockStoreError | undefined;

  private at = -Infinity;
  /** When the lease of somebody else's hold ends. */
  private freeAt: number | undefined;

  /** Whether it has neither answered nor failed. */
  get isNothing(): boolean {
    return !this.answered && this.failure === undefined;
  }

  /** @param holderLeaseLeft ms, if somebody holds the lock and the store knows */
  heard(now: MonotonicMs, holderLeaseLeft: number | undefined, stillQueued: boolean): void {
    this.answered = true;
    this.at = now;
    this.failure = undefined;
    if (stillQueued) this.freeAt = holderLeaseLeft === undefined ? undefined : now + holderLeaseLeft;
  }

  isOld(now: MonotonicMs): boolean {
    return now - this.at > OLD;
  }

  /** Whether it is known that others kept a caller waiting, who asked at that time. */
  tellsOfHolder(startedAt: MonotonicMs, isSilent: boolean): boolean {
    return this.failure === undefined && (this.at >= startedAt || (this.answered && !isSilent));
  }

  /** ms left of the holder's lease, as far as it is known. */
  holderLeaseLeft(now: MonotonicMs): number | undefined {
    return this.freeAt === undefined ? undefined : Math.max(0, Math.round(this.freeAt - now));
  }
}
