import type { Clock } from '../common/clock.js';
import { shownDuration } from '../common/durations.js';
import { DEFAULT_NAME } from '../model/lock-kind.js';
import type { LostLock } from '../model/lock-status.js';
import type { LockLostError } from '../model/lock.errors.js';
import type { MonotonicMs } from '../stores/port/lock-store.js';
import { type CallSite, callsOf } from './call-site.js';
import type { EngineLog } from './engine-log.js';
import type { EventHub } from './event-hub.js';
import { type EventSubject, factsOf } from './event-subject.js';

/** A hold. */
interface GrantedSubject extends EventSubject {
  readonly token: number;
}

/** A hold, and where it was acquired. */
interface LongHold extends EventSubject {
  readonly opened: CallSite | undefined;
}

/** A lease with its holds. */
interface SharedLease {
  readonly holders: readonly GrantedSubject[];
  has(hold: GrantedSubject): boolean;
}

/** Events and log lines of holds. Check `hub.observed` before methods that only emit an event. */
export class LeaseReporter {
  readonly losses = new RecentLosses();

  constructor(
    private readonly hub: EventHub,
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

  /** A hold is older than `warnHeldAfter`. Only logged, since its work may be right to take so long. */
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

  /** @param holds those that used the lease, and for how long, ms */
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

/** Every hold on the lease that no listener has ended meanwhile. */
function* holdsOf(lease: SharedLease): Generator<GrantedSubject> {
  for (const hold of lease.holders) if (lease.has(hold)) yield hold;
}

/** For how long, ms, a loss is recent. */
const RECENT = 5 * 60_000;
/** How many losses are counted by their times. */
const MOST = 10_000;
/** How many losses are kept with their details. */
const MOST_TOLD = 100;

/** The losses of the last minutes, for status and health. */
export class RecentLosses {
  private times: MonotonicMs[] = [];
  private latest: { readonly lost: LostLock; readonly time: MonotonicMs }[] = [];

  add(losses: readonly LostLock[], now: MonotonicMs): void {
    for (const lost of losses) {
      this.times.push(now);
      this.latest.push({ lost, time: now });
    }
    if (this.latest.length > MOST_TOLD) this.latest = this.latest.slice(-MOST_TOLD);
    if (this.times.length > MOST) this.times = this.times.slice(-MOST / 2);
  }

  /** The newest first. */
  list(now: MonotonicMs): readonly LostLock[] {
    this.latest = this.latest.filter(({ time }) => now - time < RECENT);
    return this.latest.map(({ lost }) => lost).reverse();
  }

  /** Those of the last five minutes. */
  count(now: MonotonicMs): number {
    this.times = this.times.filter((time) => now - time < RECENT);
    return this.times.length;
  }
}
