import type {
  LockStoreError,
  LockStoreSession,
  MonotonicMs,
  RenewReply,
  RenewRequest,
} from '../stores/lock-store.js';
import { Alarms } from './alarms.js';
import { deadlineOf, later, type Clock } from './clock.js';
import type { EventHub } from './event-hub.js';
import { pauseBefore } from './insistence.js';
import type { Lease } from './lease.js';
import type { Leases } from './leases.js';
import { storeFailure } from './store-failure.js';

/** Leases renewed by one request; keeps the time that a script blocks the server under a millisecond or so. */
const BATCH = 500;

/** Renews the leases whose end the user did not fix: one timer, requests in batches (B20–B22). */
export class Watchdog {
  private readonly renewals: Alarms;
  private readonly interval: number;
  private batch: Lease[] = [];
  /** Leases whose last renewal failed, and how often in a row. */
  private readonly failures = new Map<Lease, number>();

  constructor(
    private readonly session: LockStoreSession,
    private readonly clock: Clock,
    private readonly hub: EventHub,
    private readonly leases: Leases,
    private readonly watchdogTimeout: number,
  ) {
    this.interval = watchdogTimeout / 3;
    // Leases that are nearly due go along with one that is.
    this.renewals = new Alarms(clock, false, this.interval / 10);
  }

  watch(lease: Lease): void {
    if (lease.unclaimed) this.due(lease);
    else if (lease.fixedLease === undefined)
      this.renewals.set(lease.renewalAlarm, later(lease.startedAt, this.interval));
  }

  unwatch(lease: Lease): void {
    this.renewals.clear(lease.renewalAlarm);
    this.failures.delete(lease);
  }

  /** The store can be reached again: what failed is tried at once. */
  hurry(): void {
    for (const lease of this.failures.keys()) {
      this.renewals.clear(lease.renewalAlarm);
      this.due(lease);
    }
  }

  due(lease: Lease): void {
    if (this.batch.push(lease) === 1) queueMicrotask(this.renewDue);
  }

  private readonly renewDue = (): void => {
    const due = this.batch.filter((lease) => this.leases.isGood(lease));
    this.batch = [];
    for (let start = 0; start < due.length; start += BATCH) {
      void this.renew(due.slice(start, start + BATCH));
    }
  };

  private async renew(leases: readonly Lease[]): Promise<void> {
    const sentAt = this.clock.monotonic();
    const requests = leases.map((lease): RenewRequest => {
      // A claimed lease of the user's ends when it would have ended without the claim.
      const term =
        lease.fixedLease === undefined
          ? this.watchdogTimeout
          : Math.max(1, Math.ceil(lease.fixedLease - (sentAt - lease.startedAt)));
      return { key: lease.key, owner: lease.owner, lease: term };
    });
    try {
      const replies = await this.session.renew(requests);
      leases.forEach((lease, index) => {
        this.answered(lease, replies[index], sentAt, requests[index]?.lease ?? 0);
      });
    } catch (error) {
      for (const lease of leases) this.failed(lease, storeFailure(error));
    }
  }

  private answered(lease: Lease, reply: RenewReply | undefined, sentAt: MonotonicMs, term: number): void {
    this.failures.delete(lease);
    this.leases.renewed(lease, reply, deadlineOf(sentAt, term));
    if (lease.state === 'held' && lease.fixedLease === undefined) {
      this.renewals.set(lease.renewalAlarm, later(sentAt, this.interval));
    }
  }

  /** One blip loses nothing: tried again until the deadline, which a failure never moves (B22, P34). */
  private failed(lease: Lease, error: LockStoreError): void {
    if (!this.leases.isGood(lease)) return;
    lease.renewalFailure = error;
    const failures = this.failures.get(lease) ?? 0;
    this.failures.set(lease, failures + 1);
    const remaining = this.leases.remaining(lease);
    const { key, token } = lease;
    this.hub.emit({ type: 'renewal-failed', key, at: this.clock.wall(), token, remaining, error });
    const pause = Math.min(pauseBefore(failures), this.interval / 2);
    this.renewals.set(lease.renewalAlarm, later(this.clock.monotonic(), pause));
  }
}
