import { type Clock, deadlineOf } from '../../common/clock.js';
import { inMs, shownDuration } from '../../common/durations.js';
import { DEFAULT_OPERATION, type EventSubject, factsOf } from '../../model/lock-kind.js';
import type { LostLock } from '../../model/lock-status.js';
import {
  LockClosedError,
  type LockLostError,
  LockConflictError,
  LockQueueFullError,
  LockTimeoutError,
  type LockTimeoutHolder,
  LockUnavailableError,
} from '../../model/lock.errors.js';
import { LockStoreError, type MonotonicMs, type WallClockMs } from '../../stores/port/lock-store.js';
import { type CallSite, callsOf } from './call-site.js';
import { type EngineLog, type EventHub, guardedController, textOf } from './event-hub.js';
import { isSilence, type StoreReporter } from './store-reporter.js';

/** A caller that has not acquired its lock. */
interface UnservedCaller extends EventSubject {
  readonly startedAt: MonotonicMs;
  readonly waitTime: number;
  readonly reentrant: boolean;
  /** Keys of the locks that the calling code held. */
  readonly holding: readonly string[];
  /** Whether it skips its work if the lock is busy. */
  readonly skips: boolean;
  /** For one of several keys; see `PartOptions`. */
  readonly partOf?: number | undefined;
  readonly heldKey?: string | undefined;
}

/** A caller in a queue, or one that tries. */
interface QueuedCaller extends UnservedCaller {
  readonly isSettled: boolean;
  /** Whether its `queued` event was emitted. */
  isQueuedReported: boolean;
  readonly onWaiting: (() => void) | undefined;
  readonly leaseTime: number | undefined;
  readonly maxWaiting: number;
}

/** A hold of this process. */
export interface ReportedHold extends EventSubject {
  readonly token: number;
  readonly acquiredAt: WallClockMs;
  readonly heldFrom: MonotonicMs;
  /** Where `acquire()` was called, for a handle that no scope releases. */
  readonly opened: CallSite | undefined;
}

/** Its holds, and whether one still uses it. */
interface ReportedLease {
  readonly holders: readonly ReportedHold[];
  has(hold: ReportedHold): boolean;
}

/** How much of a holder's lease is left. */
export interface LeaseLeft {
  readonly ms: number;
  /** Whether this is only an upper bound. */
  readonly isBound: boolean;
}

/** The sentence about a timeout, from the duration and the holder. */
type TimeoutStory = (waitedFor: string, by: string) => string;

/** The holder in a timeout error. */
export interface KnownHolder extends LockTimeoutHolder {
  /** Whether the holder is this module instance of this process. */
  readonly isHere: boolean;
  /** Whether the hold is a handle of `acquire()`, which no scope releases. */
  readonly isOpen: boolean;
  /** How many more holders there are. */
  readonly others: number;
}

/**
 * Errors, events and log lines of acquisitions and holds; check `hub.observed` before methods that only emit an event.
 * The caller gets its outcome before listeners get the event, since a listener may change that outcome, for example by
 * releasing the lock.
 */
export class LockReporter {
  readonly losses = new RecentLosses();
  /** Emits the event of an error, once the caller has received the error. */
  private readonly events = new WeakMap<Error, () => void>();
  /** Builds the same error again when its holder is known. */
  private readonly nameable = new WeakMap<Error, (holder: KnownHolder) => LockTimeoutError>();

  constructor(
    private readonly hub: EventHub,
    private readonly clock: Clock,
    private readonly log: EngineLog,
    private readonly store: StoreReporter,
  ) {}

  /** Ends a wait with an error, and emits its event. */
  refuse(wait: { readonly isSettled: boolean; fail(error: unknown): void }, error: unknown): void {
    if (wait.isSettled) return;
    wait.fail(error);
    if (error instanceof Error) this.emitEventOf(error);
  }

  /** Emits the event of an error that is thrown at once. */
  reported<E extends Error>(error: E): E {
    this.emitEventOf(error);
    return error;
  }

  queued(caller: QueuedCaller, left: LeaseLeft | undefined): void {
    if (caller.isQueuedReported || caller.isSettled) return;
    caller.isQueuedReported = true;
    caller.onWaiting?.();
    if (!this.hub.observed) return;
    this.hub.emit({
      type: 'queued',
      ...factsOf(caller, this.clock),
      holderLeaseLeft: left?.ms,
      holderLeaseIsBound: left?.isBound === true,
    });
  }

  /** Only an event: check `hub.observed` before. */
  granted(caller: EventSubject & { readonly startedAt: MonotonicMs }, token: number): void {
    const waitedFor = Math.round(this.clock.monotonic() - caller.startedAt);
    this.hub.emit({ type: 'granted', ...factsOf(caller, this.clock), token, waitedFor });
  }

  timedOut(
    caller: UnservedCaller,
    remaining: LeaseLeft | undefined,
    holder?: KnownHolder,
    how?: string,
  ): LockTimeoutError {
    const story: TimeoutStory = (waitedFor, by) =>
      caller.waitTime === 0
        ? `is ${how ?? by}, and waitTime is 0.`
        : `was ${how ?? by} for the whole waitTime (${waitedFor}).`;
    return this.timeout(caller, remaining, story, holder);
  }

  /** The text of a warning of a wait without limit. */
  stillWaits(caller: UnservedCaller, holder?: KnownHolder, how?: string): string {
    const waitedFor = shownDuration(this.clock.monotonic() - caller.startedAt);
    const story: TimeoutStory = (_, by) =>
      `is ${how ?? by}, and a call has waited for it for ${waitedFor}, without a limit (waitTime: Infinity).`;
    return this.timeout(caller, undefined, story, holder).message;
  }

  /** For a caller that retried instead of waiting in a queue. */
  triesTimedOut(
    caller: UnservedCaller,
    remaining: LeaseLeft | undefined,
    tries: number,
    holder?: KnownHolder,
  ): LockTimeoutError {
    const story: TimeoutStory = (waitedFor, by) =>
      `was ${by} at the last attempt (number ${String(tries)}, after ${waitedFor}).`;
    return this.timeout(caller, remaining, story, holder);
  }

  /** The same error with its holder. */
  withHolder(error: LockTimeoutError, holder: KnownHolder): LockTimeoutError {
    const rebuild = this.nameable.get(error);
    return rebuild?.(holder) ?? error;
  }

  /** For one of several keys. */
  lostAgain(caller: UnservedCaller): LockTimeoutError {
    return this.timeout(
      caller,
      undefined,
      (waitedFor) => `was acquired, but lost again before all keys were acquired (after ${waitedFor}).`,
    );
  }

  /** `maxWaiting` callers wait already. Not logged. */
  queueFull(caller: QueuedCaller, waiting: number): LockQueueFullError {
    const { key, maxWaiting } = caller;
    const error = new LockQueueFullError(
      `The lock "${key}" is held, and no more callers of this process may wait for it: ${String(waiting)} wait, and maxWaiting is ${String(maxWaiting)}. ` +
        'Try again later, hold the lock for a shorter time, or raise maxWaiting.',
      { keys: [key], waiting, maxWaiting },
    );
    this.events.set(error, () => {
      this.hub.emit({ type: 'queue-full', ...factsOf(caller, this.clock), waiting, maxWaiting });
    });
    return error;
  }

  /** Requests took too long: those for others of several keys, or the one that extends a hold for its re-entry. */
  outOfTime(caller: UnservedCaller): LockTimeoutError {
    const { heldKey, partOf } = caller;
    if (heldKey !== undefined) return this.timedOut(at(heldKey, caller), undefined);
    return this.timeout(caller, undefined, (waitedFor) =>
      partOf === undefined
        ? `could not be re-entered in time: extending its lease took the whole waitTime (${waitedFor}).`
        : `could not be acquired in time: it is one of ${String(partOf)} keys, and requesting them took the whole waitTime (${waitedFor}).`,
    );
  }

  private timeout(
    caller: UnservedCaller,
    remaining: LeaseLeft | undefined,
    story: TimeoutStory,
    holder?: KnownHolder,
    waitedFor = Math.round(this.clock.monotonic() - caller.startedAt),
  ): LockTimeoutError {
    const { key } = caller;
    // Holds of the same key by another branch of the scope are left out: the order of keys does not concern them.
    const holding = caller.holding.filter((held) => held !== key);
    const isOpen = holder?.isOpen === true;
    const bound = remaining?.isBound === true ? 'at most ' : '';
    const left = remaining === undefined ? '' : ` The holder's lease has ${bound}${inMs(remaining.ms)} left.`;
    const nested =
      holding.length === 0
        ? ''
        : ` The caller holds ${holding.map((held) => `"${held}"`).join(', ')} meanwhile: nested locks must be acquired in the same order everywhere.`;
    const isOwn = caller.holding.includes(key);
    const own =
      isOwn && !caller.reentrant
        ? ' The asynchronous context of this call holds the lock itself, and reentrant is false: the call waits for its own lock, ' +
          'unless it runs in a queue or a pool that has kept the context of another caller.'
        : '';
    const advice =
      isOpen || caller.waitTime === 0 || caller.waitTime === Infinity || isOwn
        ? ''
        : ' Increase waitTime, or hold the lock for a shorter time.';
    const by = isOpen ? 'held by this process' : 'held by another caller';
    const whose = holder === undefined ? '' : holderText(holder);
    const error = new LockTimeoutError(
      `The lock "${key}" ${story(inMs(waitedFor), by)}${whose}${left}${own}${nested}${advice}`,
      {
        keys: [key],
        waitedFor,
        remaining: remaining?.ms,
        remainingIsBound: remaining?.isBound,
        holder: holder === undefined ? undefined : publicHolder(holder),
      },
    );
    if (holder === undefined) {
      this.nameable.set(error, (found) => this.timeout(caller, remaining, story, found, waitedFor));
    }
    this.events.set(error, () => {
      const type = caller.skips ? 'skipped' : 'timeout';
      this.hub.emit({ type, ...factsOf(caller, this.clock), waitedFor });
    });
    return error;
  }

  /** All callers of a key have to use the same limit. */
  disagreement(
    { key, limit }: { readonly key: string; readonly limit: number },
    others: number,
  ): LockConflictError {
    return new LockConflictError(
      `The lock "${key}" was requested with ${sharingText(limit)}, but is held or waited for with ${sharingText(others)}. ` +
        'Use the same in all calls of a key, or use another key.',
      { keys: [key], limit, othersLimit: others },
    );
  }

  unavailable(
    subject: EventSubject,
    failure: LockStoreError | undefined,
    waitedFor?: number,
  ): LockUnavailableError {
    const { key } = subject;
    const cause =
      failure ?? new LockStoreError('the store has not replied', { inDoubt: true, retryable: true });
    const after = waitedFor === undefined ? '' : ` after ${inMs(waitedFor)}`;
    const error = new LockUnavailableError(
      `The request for the lock "${key}" failed${after}: ${cause.advice}${isSilence(cause) && cause.remedy === undefined ? ' Check that it is up and reachable.' : ''}`,
      { keys: [key], cause },
    );
    this.events.set(error, () => {
      this.store.failed(cause);
      this.hub.emit({ type: 'unavailable', ...factsOf(subject, this.clock), error });
    });
    return error;
  }

  /**
   * The store granted the lock, but its reply took so many ms that the lease had ended. If that is the caller's own
   * `leaseTime`, it is not reported as a problem of the store.
   */
  lateGrant(caller: QueuedCaller, took: number): LockUnavailableError {
    const cause = lateAnswer(took);
    if (!isLeaseTooShort(caller, took)) return this.unavailable(caller, cause, took);
    const { key, leaseTime = 0 } = caller;
    const error = new LockUnavailableError(
      `The lock "${key}" was granted too late: the store's reply took ${inMs(took)}, and the leaseTime of ${inMs(leaseTime)} had passed by then. ` +
        'Make leaseTime several times as long as a reply takes, or leave it out, so that the lease is renewed.',
      { keys: [key], cause },
    );
    this.events.set(error, () => {
      this.hub.emit({ type: 'unavailable', ...factsOf(caller, this.clock), error });
    });
    return error;
  }

  /** A call ended by its signal or by shutdown. For several keys, the subject is the first. */
  ended(type: 'aborted' | 'closed', subject: EventSubject, startedAt: MonotonicMs): void {
    if (!this.hub.observed) return;
    const waitedFor = Math.round(this.clock.monotonic() - startedAt);
    this.hub.emit({ type, ...factsOf(subject, this.clock), waitedFor });
  }

  /** This process broke a lock. Logged only with `by`; the holder logs the loss in any case. */
  broken(key: string, by: string | undefined): void {
    if (by !== undefined) {
      this.log.warn(`The lock ${JSON.stringify(key)} was broken by force, by ${JSON.stringify(by)}.`);
    }
    if (!this.hub.observed) return;
    const subject = { key, operation: DEFAULT_OPERATION, limit: 1, permits: 1, label: undefined };
    this.hub.emit({ type: 'broken', ...factsOf(subject, this.clock), by });
  }

  released(hold: ReportedHold, heldFor: number): void {
    const { token } = hold;
    this.hub.emit({ type: 'released', ...factsOf(hold, this.clock), token, heldFor: Math.round(heldFor) });
  }

  /** @param remaining ms for which the lock is surely held */
  renewed(lease: ReportedLease, remaining: number): void {
    for (const hold of holdsOf(lease)) {
      const { token } = hold;
      this.hub.emit({ type: 'renewed', ...factsOf(hold, this.clock), token, remaining });
    }
  }

  renewalFailed(lease: ReportedLease, remaining: number, error: Error): void {
    for (const hold of holdsOf(lease)) {
      const { token } = hold;
      this.hub.emit({ type: 'renewal-failed', ...factsOf(hold, this.clock), token, remaining, error });
    }
  }

  /** A hold is older than `warnHeldAfter`. Only logged, since its work may legitimately take that long. */
  heldForLong({ key, label, operation, opened }: ReportedHold, heldFor: number): void {
    const what = [
      label === undefined ? [] : `label ${JSON.stringify(label)}`,
      operation === DEFAULT_OPERATION ? [] : `operation ${JSON.stringify(operation)}`,
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

  /**
   * @param holds the holds that used the lease, and for how long, ms
   * @param afterRelease whether only the reply to the release showed the loss
   */
  lost(
    holds: ReadonlyMap<ReportedHold, number>,
    error: LockLostError,
    now: MonotonicMs,
    afterRelease = false,
  ): void {
    const { reason } = error;
    const losses = Array.from(holds, ([hold, heldFor]): LostLock => {
      const { token } = hold;
      return { ...factsOf(hold, this.clock), token, reason, heldFor: Math.round(heldFor), afterRelease };
    });
    this.losses.add(losses, now);
    if (this.hub.observed) for (const lost of losses) this.hub.emit({ type: 'lost', ...lost });
    const advice = afterRelease
      ? 'Its work has ended; another caller may have held the lock meanwhile.'
      : 'Its work continues; check isHeld, assertHeld() or signal there.';
    this.log.warn(`${error.message} ${advice}`);
  }

  /** For a handle's `signal`. */
  signalController(expire: () => void): AbortController {
    return guardedController((error) => {
      this.log.warn(`A listener of a lock's signal threw: ${textOf(error)}`);
    }, expire);
  }

  private emitEventOf(error: Error): void {
    const emit = this.events.get(error);
    this.events.delete(error);
    emit?.();
  }

  closed(key: string): LockClosedError {
    return new LockClosedError(
      `The lock "${key}" can no longer be acquired: the application has shut down everything that uses locks. ` +
        'Await work that needs locks in a shutdown hook, so that locks stay available for it.',
      { keys: [key] },
    );
  }
}

/** Whether a reply that takes this many ms outlasts the caller's own `leaseTime`. */
export function isLeaseTooShort(
  { leaseTime }: { readonly leaseTime: number | undefined },
  took: number,
): boolean {
  return leaseTime !== undefined && deadlineOf(0 as MonotonicMs, leaseTime) <= took;
}

/** The failure of a grant whose lease had ended when it arrived, this many ms after the request. */
export function lateAnswer(took: number): LockStoreError {
  return new LockStoreError(`its reply came too late, after ${inMs(took)}`, {
    inDoubt: false,
    retryable: true,
  });
}

/** The same caller with another of its keys. */
function at(
  key: string,
  { operation, limit, permits, label, startedAt, waitTime, reentrant, holding, skips }: UnservedCaller,
): UnservedCaller {
  return { key, operation, limit, permits, label, startedAt, waitTime, reentrant, holding, skips };
}

/** A limit in terms of the options. */
function sharingText(limit: number): string {
  if (limit === Infinity) return "mode 'shared'";
  return limit === 1 ? "mode 'exclusive' (limit 1)" : `limit ${String(limit)}`;
}

/** As the command line shows a holder: host, process, label, and start. */
function holderText({ process, label, acquiredAt, isHere, isOpen, others }: KnownHolder): string {
  const who = process === undefined ? 'other software' : `${process.host} pid ${String(process.pid)}`;
  const labelled = label === undefined ? '' : ` (${JSON.stringify(label)})`;
  const since = acquiredAt === undefined ? '' : ` since ${new Date(acquiredAt).toISOString()}`;
  const more = others === 0 ? '' : ` and ${String(others)} more`;
  const here = isHere && !isOpen ? ', which is this process' : '';
  const handle = isOpen
    ? ', by a handle of acquire() that is not released. If this call belongs to the work of that handle, it is a ' +
      'deadlock: run that work in handle.run(fn), where the lock is re-entered, or use withLock(). Otherwise release the handle.'
    : '.';
  return ` The holder is ${who}${labelled}${since}${more}${here}${handle}`;
}

function publicHolder({ token, acquiredAt, label, process }: KnownHolder): LockTimeoutHolder {
  return { token, acquiredAt, label, process };
}

/** Every hold on the lease, except those that a listener has ended meanwhile. */
function* holdsOf(lease: ReportedLease): Generator<ReportedHold> {
  for (const hold of lease.holders) if (lease.has(hold)) yield hold;
}

/** How long a loss is recent, ms. */
const RECENT = 5 * 60_000;
/** The most losses counted, and listed. */
const MOST = 10_000;
const MOST_LISTED = 100;

/** The losses of the last minutes, for status and health. */
class RecentLosses {
  private latest: { readonly lost: LostLock; readonly time: MonotonicMs }[] = [];

  add(losses: readonly LostLock[], now: MonotonicMs): void {
    for (const lost of losses) this.latest.push({ lost, time: now });
    if (this.latest.length > MOST) this.latest = this.latest.slice(-MOST / 2);
  }

  /** Newest first. */
  list(now: MonotonicMs): readonly LostLock[] {
    this.forgetOld(now);
    return this.latest
      .slice(-MOST_LISTED)
      .map(({ lost }) => lost)
      .reverse();
  }

  /** The losses of the last five minutes. */
  count(now: MonotonicMs): number {
    this.forgetOld(now);
    return this.latest.length;
  }

  private forgetOld(now: MonotonicMs): void {
    this.latest = this.latest.filter(({ time }) => now - time < RECENT);
  }
}
