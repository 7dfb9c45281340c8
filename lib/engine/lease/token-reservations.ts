import { whenReplied } from '../../common/pending-reply.js';
import type { LockStoreSession, ReserveReply } from '../../stores/port/lock-store.js';
import type { SuspendAwareClock } from '../time/suspend-aware-clock.js';
import type { CohortBudget } from './cohort-budget.js';
import type { Lease } from './lease.js';
import type { RenewalListener, Watchdog } from './watchdog.js';

const NO_REPLY = Promise.resolve(undefined);

/** Asks the store for tokens for the holds of this process that follow on a lease, and renews the lease by it. */
export class TokenReservations {
  constructor(
    private readonly session: LockStoreSession,
    private readonly cautious: SuspendAwareClock,
    private readonly watchdog: Watchdog,
    private readonly leases: RenewalListener,
    private readonly watchdogTimeout: number,
  ) {}

  /**
   * For a single token, which each hold asks for, the lease is renewed only if that was not done a moment ago. What fails
   * here, the watchdog finds out (P20).
   */
  reserve(lease: Lease, budget: CohortBudget, tokens: number, done: () => void): void {
    const { key, owner } = lease;
    const sentAt = this.cautious.sendingAt();
    const term = tokens === 1 && this.watchdog.isFresh(lease, sentAt) ? 0 : this.watchdogTimeout;
    const replied = (reply: ReserveReply | undefined): void => {
      if (reply?.outcome === 'reserved') {
        budget.renewed(reply.token, tokens, reply.othersWait, sentAt);
        if (term > 0) {
          this.leases.renewed(lease, 'renewed', sentAt, term);
          this.watchdog.renewed(lease, sentAt);
        }
      } else {
        budget.failed();
        // A store of the user's may reply nothing.
        if (reply !== undefined) this.leases.renewed(lease, reply.outcome, sentAt, term);
      }
      done();
    };
    const request = { key, owner, lease: term, tokens };
    whenReplied<ReserveReply | undefined>(this.session.reserve?.(request) ?? NO_REPLY, replied, () => {
      budget.failed();
      done();
    });
  }
}
