import { shownDuration } from '../../common/durations.js';
import { DEFAULT_NAME } from '../../model/lock-kind.js';
import { callsOf, type CallSite } from './call-site.js';
import type { Clock } from '../../common/clock.js';
import type { LockLostError } from '../../model/lock.errors.js';
import type { LostLock } from '../../model/lock-status.js';
import type { MonotonicMs } from '../../stores/port/lock-store.js';
import type { EngineLog } from './engine-log.js';
import type { EventHub } from './event-hub.js';
import { factsOf, type EventSubject } from './event-subject.js';
import { RecentLosses } from './recent-losses.js';
import type { StoreReporter } from './store-reporter.js';

/** A hold. */
interface GrantedSubject extends EventSubject {
  readonly token: number;
}

/** A hold, and where it was acquired. */
interface LongHold extends EventSubject {
  readonly opened: CallSite | undefined;
}

/** What holds live on. */
interface SharedLease {
  readonly holders: readonly GrantedSubject[];
  has(hold: GrantedSubject): boolean;
}

/** How it is told what becomes of holds and of their leases. Ask `hub.observed` before what is only an event. */
export class LeaseReporter {
  readonly losses = new RecentLosses();

  /** @param store is told what came of renewals */
  constructor(
    readonly hub: EventHub,
    readonly store: StoreReporter,
    private readonly clock: Clock,
    private readonly log: EngineLog,
  ) {}

  released(hold: GrantedSubject, heldFor: number): void {
    const { token } = hold;
    this.hub.emit({ type: 'released', ...factsOf(hold, this.clock), token, heldFor: Math.round(heldFor) });
  }

  /** @param remaining ms for which the lock is surely held */
  renewed(lease: SharedLease, remaining: number): void {
    for (const hold of holdsOf(lease)) {
      const { token } = hold;
      this.hub.emit({ type: 'renewed', ...factsOf(hold, this.clock), token, remaining });
    }
  }

  renewalFailed(lease: SharedLease, remaining: number, error: Error): void {
    for (const hold of holdsOf(lease)) {
      const { token } = hold;
      this.hub.emit({ type: 'renewal-failed', ...factsOf(hold, this.clock), token, remaining, error });
    }
  }

  /** A hold is older than `warnHeldAfter`. Its work may be right to take so long, so that this is only a line in the log. */
  heldForLong({ key, label, name, opened }: LongHold, heldFor: number): void {
    const what = [
      label === undefined ? [] : `label ${JSON.stringify(label)}`,
      name === DEFAULT_NAME ? [] : `name ${JSON.stringify(name)}`,
    ].flat();
    const about = what.length === 0 ? '' : ` (${what.join(', ')})`;
    const calls = opened === undefined ? [] : callsOf(opened);
    const place = calls.length === 0 ? '' : ` acquire() was called\n    ${calls.join('\n    ')}`;
    const advice =
      opened === undefined
        ? 'Its work may hang.'
        : 'It is a handle of acquire(): its release() may be missing.';
    this.log.warn(
      `The lock ${JSON.stringify(key)}${about} has been held for ${shownDuration(heldFor)}, longer than warnHeldAfter. ${advice} If it is meant to be held for that long, raise warnHeldAfter or set it to false.${place}`,
    );
  }

  /** @param holds those that lived on the lease, and for how long, ms */
  lost(holds: ReadonlyMap<GrantedSubject, number>, error: LockLostError, now: MonotonicMs): void {
    const { reason } = error;
    const losses = Array.from(holds, ([hold, heldFor]): LostLock => {
      const { token } = hold;
      return { ...factsOf(hold, this.clock), token, reason, heldFor: Math.round(heldFor) };
    });
    this.losses.add(losses, now);
    if (this.hub.observed) for (const lost of losses) this.hub.emit({ type: 'lost', ...lost });
    this.log.warn(`${error.message} Its work goes on; check isHeld, assertHeld() or signal there.`);
  }
}

/** Every hold on the lease, but for those that a listener ends when it is notified of another. */
function* holdsOf(lease: SharedLease): Generator<GrantedSubject> {
  for (const hold of lease.holders) if (lease.has(hold)) yield hold;
}
