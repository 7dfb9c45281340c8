import type { MonotonicMs, OwnerRequest } from '../port/lock-store.js';

/** How long releases are kept at least, ms: longer than a planned failover by Sentinel lets clients write to the former primary. */
const KEPT = 5_000;
/** The most that are kept are twice as many. */
const MOST = 4_096;

/**
 * The last releases of a session. A failover loses those that the former primary had not replicated: the new one would keep
 * the lock for a hold that no process has. An owner is used once, so repeating its release has no other effect.
 */
export class RecentReleases {
  private latest: OwnerRequest[] = [];
  private earlier: OwnerRequest[] = [];
  private since = -Infinity;

  add(request: OwnerRequest, now: MonotonicMs): void {
    if (now - this.since > KEPT || this.latest.length === MOST) {
      this.earlier = this.latest;
      this.latest = [];
      this.since = now;
    }
    this.latest.push(request);
  }

  /** Oldest first. */
  all(): readonly OwnerRequest[] {
    return [...this.earlier, ...this.latest];
  }
}
