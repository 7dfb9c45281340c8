import type { LockLostError } from '../lock.errors.js';
import type { MonotonicMs, OwnerId, WallClockMs } from '../stores/lock-store.js';
import { Reminder } from './alarms.js';

export interface LeaseTerms {
  readonly key: string;
  readonly owner: OwnerId;
  readonly token: number;
  readonly since: WallClockMs;
  /** When the lease began at the earliest. */
  readonly startedAt: MonotonicMs;
  readonly deadline: MonotonicMs;
  /** The user's `leaseTime`; undefined when the watchdog keeps the lease. */
  readonly fixedLease: number | undefined;
  /** Whether a copy of the request that brought this grant may still be under way. */
  readonly inDoubt: boolean;
  /** Whether the grant was pushed and waits to be claimed. */
  readonly unclaimed: boolean;
}

/** What the store granted: the time for which an owner has a lock. The hold that the user sees lives on it. */
export class Lease {
  readonly key: string;
  readonly owner: OwnerId;
  readonly token: number;
  readonly since: WallClockMs;
  readonly startedAt: MonotonicMs;
  readonly fixedLease: number | undefined;
  readonly inDoubt: boolean;
  readonly unclaimed: boolean;

  state: 'held' | 'released' | 'lost' = 'held';
  lostError: LockLostError | undefined;
  /** The last renewal's failure, if none has succeeded since. */
  renewalFailure: Error | undefined;
  /** Told once, when the lease is lost. */
  onLost: ((error: LockLostError) => void) | undefined;

  readonly deadlineAlarm: Reminder;
  readonly renewalAlarm: Reminder;

  private validUntil: MonotonicMs;

  constructor(
    terms: LeaseTerms,
    rings: { readonly deadline: (lease: Lease) => void; readonly renewal: (lease: Lease) => void },
  ) {
    this.key = terms.key;
    this.owner = terms.owner;
    this.token = terms.token;
    this.since = terms.since;
    this.startedAt = terms.startedAt;
    this.fixedLease = terms.fixedLease;
    this.inDoubt = terms.inDoubt;
    this.unclaimed = terms.unclaimed;
    this.validUntil = terms.deadline;
    this.deadlineAlarm = new Reminder(() => {
      rings.deadline(this);
    });
    this.renewalAlarm = new Reminder(() => {
      rings.renewal(this);
    });
  }

  /** Until when the lease may be relied on. Only ever moves later. */
  get deadline(): MonotonicMs {
    return this.validUntil;
  }

  prolong(deadline: MonotonicMs): void {
    if (deadline > this.validUntil) this.validUntil = deadline;
  }

  isGood(now: MonotonicMs): boolean {
    return this.state === 'held' && now < this.validUntil;
  }
}
