import {
  LockClosedError,
  LockOptionsError,
  LockQueueFullError,
  LockTimeoutError,
  type LockTimeoutHolder,
  LockUnavailableError,
} from '../../model/lock.errors.js';
import { DEFAULT_NAME } from '../../model/lock-kind.js';
import { inMs } from '../../common/durations.js';
import { isLeaseTooShort, lateAnswer } from './late-grant.js';
import { LockStoreError, type MonotonicMs } from '../../stores/port/lock-store.js';
import type { Clock } from '../../common/clock.js';
import type { EngineLog } from './engine-log.js';
import type { EventHub } from './event-hub.js';
import { factsOf, type EventSubject } from './event-subject.js';
import { guardedController } from './guarded-signal.js';
import { textOf } from './listener-call.js';
import { isSilence, type StoreReporter } from './store-reporter.js';

/** Who waited for what. */
interface UnservedCaller extends EventSubject {
  readonly startedAt: MonotonicMs;
  readonly waitTime: number;
  /** Keys of the locks that the waiting code held. */
  readonly holding: readonly string[];
  /** Whether it does without the lock where others hold it. */
  readonly skips: boolean;
}

/** Of one key of several; see `PartOptions`. */
interface PartFacts {
  readonly partOf?: number | undefined;
  readonly heldKey?: string | undefined;
}

/** What is left of a holder's lease. */
export interface LeaseLeft {
  readonly ms: number;
  /** Whether the store only knows that it is no more than that. */
  readonly isBound: boolean;
}

/** How a wait ended: for how long it lasted, and who held the lock. */
type TimeoutStory = (waitedFor: string, by: string) => string;

/** Who holds a lock that a caller did not get. */
export interface KnownHolder extends LockTimeoutHolder {
  /** Whether that is this module instance of this process. */
  readonly isHere: boolean;
  /** Whether it is a handle of `acquire()`, which no scope releases. */
  readonly isOpen: boolean;
  /** How many others hold the lock beside it. */
  readonly others: number;
}

/** Who may hear that it has to wait. */
interface WaitingCaller extends UnservedCaller {
  /** Whether its `queued` event was emitted. */
  queuedTold: boolean;
  readonly onWaiting?: (() => void) | undefined;
  readonly isSettled: boolean;
}

/** What ends with an error. */
interface Refusable {
  readonly isSettled: boolean;
  fail(error: unknown): void;
}

/**
 * How the outcome of an acquisition is told: errors to the caller, events to whoever listens. The caller's outcome
 * comes first, since a listener may do what would change it, such as release the lock that was waited for.
 */
export class LockReporter {
  /** What has to be said of errors that no caller has got yet. */
  private readonly untold = new WeakMap<Error, () => void>();
  /** Makes the same error anew when its holder is known. */
  private readonly nameable = new WeakMap<Error, (holder: KnownHolder) => LockTimeoutError>();

  constructor(
    private readonly hub: EventHub,
    private readonly clock: Clock,
    private readonly log: EngineLog,
    private readonly store: StoreReporter,
  ) {}

  /** Ends a wait with an error of its own or of the caller's, and tells of it. */
  refuse(wait: Refusable, error: unknown): void {
    if (wait.isSettled) return;
    wait.fail(error);
    if (error instanceof Error) this.tell(error);
  }

  /** Tells of an error that is thrown at once. */
  told<E extends Error>(error: E): E {
    this.tell(error);
    return error;
  }

  queued(caller: WaitingCaller, left: LeaseLeft | undefined): void {
    if (caller.queuedTold || caller.isSettled) return;
    caller.queuedTold = true;
    caller.onWaiting?.();
    if (!this.hub.observed) return;
    this.hub.emit({
      type: 'queued',
      ...factsOf(caller, this.clock),
      holderLeaseLeft: left?.ms,
      holderLeaseIsBound: left?.isBound === true,
    });
  }

  allQueued(callers: Iterable<WaitingCaller>, left: LeaseLeft | undefined): void {
    // Listeners may change who waits.
    for (const caller of this.hub.observed ? [...callers] : callers) this.queued(caller, left);
  }

  /** Only an event: ask before whether anybody listens. */
  granted(caller: EventSubject & Pick<UnservedCaller, 'startedAt'>, token: number): void {
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

  /** Of a caller that tried so often, and stood in no queue. */
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

  /** The same error, once the holder is known. */
  withHolder(error: LockTimeoutError, holder: KnownHolder): LockTimeoutError {
    const rebuild = this.nameable.get(error);
    return rebuild?.(holder) ?? error;
  }

  /** Of one key of several. */
  lostAgain(caller: UnservedCaller): LockTimeoutError {
    return this.timeout(
      caller,
      undefined,
      (waitedFor) => `was got, but lost again before all keys were there (after ${waitedFor}).`,
    );
  }

  /** So many wait already that this caller must not (`maxWaiting`). Told by an event and the error, not by the log. */
  queueFull(caller: EventSubject & { readonly maxWaiting: number }, waiting: number): LockQueueFullError {
    const { key, maxWaiting } = caller;
    this.hub.emit({ type: 'queue-full', ...factsOf(caller, this.clock), waiting, maxWaiting });
    return new LockQueueFullError(
      `The lock "${key}" is held by others, and no more callers of this process may wait for it: ${String(waiting)} wait, and maxWaiting is ${String(maxWaiting)}. ` +
        'Try again later, hold it for shorter, or raise maxWaiting.',
      { keys: [key], waiting, maxWaiting },
    );
  }

  /** Of one key of several: asking for others of them took too long. */
  outOfTime(caller: UnservedCaller & PartFacts): LockTimeoutError {
    const { heldKey, partOf } = caller;
    if (heldKey !== undefined) return this.timedOut(at(heldKey, caller), undefined);
    return this.timeout(
      caller,
      undefined,
      (waitedFor) =>
        `could not be taken in time: it is one of ${String(partOf)} keys, and asking for them took the whole waitTime (${waitedFor}).`,
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
    // Of the same key: another branch of the scope that holds it, which is no matter of order.
    const holding = caller.holding.filter((held) => held !== key);
    const isOpen = holder?.isOpen === true;
    const bound = remaining?.isBound === true ? 'at most ' : '';
    const left = remaining === undefined ? '' : ` The holder's lease has ${bound}${inMs(remaining.ms)} left.`;
    const nested =
      holding.length === 0
        ? ''
        : ` The caller holds ${holding.map((held) => `"${held}"`).join(', ')} meanwhile: nested locks have to be taken in the same order everywhere.`;
    const advice =
      isOpen || caller.waitTime === 0 || caller.holding.includes(key)
        ? ''
        : ' Wait longer, or hold it for shorter.';
    const by = isOpen ? 'held by this process' : 'held by others';
    const whose = holder === undefined ? '' : holderText(holder);
    const error = new LockTimeoutError(
      `The lock "${key}" ${story(inMs(waitedFor), by)}${whose}${left}${nested}${advice}`,
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
    this.untold.set(error, () => {
      const type = caller.skips ? 'skipped' : 'timeout';
      this.hub.emit({ type, ...factsOf(caller, this.clock), waitedFor });
    });
    return error;
  }

  /** The callers of a key have to agree on how many may hold it at once. */
  disagreement(
    { key, limit }: { readonly key: string; readonly limit: number },
    others: number,
  ): LockOptionsError {
    return new LockOptionsError(
      `The lock "${key}" was asked for with ${sharingText(limit)}, but is held or waited for with ${sharingText(others)}. ` +
        'Say the same in all calls of a key, or use another key.',
      { keys: [key] },
    );
  }

  unavailable(
    subject: EventSubject,
    failure: LockStoreError | undefined,
    waitedFor?: number,
  ): LockUnavailableError {
    const { key } = subject;
    const cause = failure ?? new LockStoreError('it has not answered', { inDoubt: true, retryable: true });
    const after = waitedFor === undefined ? '' : ` within ${inMs(waitedFor)}`;
    const error = new LockUnavailableError(
      `The store could not be asked for the lock "${key}"${after}: ${cause.advice}${isSilence(cause) && cause.remedy === undefined ? ' Check that it is up and reachable.' : ''}`,
      { keys: [key], cause },
    );
    this.untold.set(error, () => {
      this.store.failed(cause);
      this.hub.emit({ type: 'unavailable', ...factsOf(subject, this.clock), error });
    });
    return error;
  }

  /**
   * The store granted the lock, but its answer took so many ms that the lease was over. Where that is the caller's own
   * `leaseTime` it is no trouble of the store, and concerns nobody else.
   */
  lateGrant(
    caller: EventSubject & { readonly leaseTime: number | undefined },
    took: number,
  ): LockUnavailableError {
    const cause = lateAnswer(took);
    if (!isLeaseTooShort(caller, took)) return this.unavailable(caller, cause, took);
    const { key, leaseTime = 0 } = caller;
    const error = new LockUnavailableError(
      `The lock "${key}" was granted too late: the store's answer took ${inMs(took)}, and the leaseTime of ${inMs(leaseTime)} was over by then. ` +
        'Make leaseTime several times as long as the store takes to answer, or leave it out, so that the lease is renewed.',
      { keys: [key], cause },
    );
    this.untold.set(error, () => {
      this.hub.emit({ type: 'unavailable', ...factsOf(caller, this.clock), error });
    });
    return error;
  }

  /** A call ended by its signal, or by shutdown; of several keys, its subject has the first. */
  ended(type: 'aborted' | 'closed', subject: EventSubject, startedAt: MonotonicMs): void {
    if (!this.hub.observed) return;
    const waitedFor = Math.round(this.clock.monotonic() - startedAt);
    this.hub.emit({ type, ...factsOf(subject, this.clock), waitedFor });
  }

  /** This process broke a lock. Who is named goes to the log, too; its holder tells of the loss in any case. */
  broken(key: string, by: string | undefined): void {
    if (by !== undefined) {
      this.log.warn(`The lock ${JSON.stringify(key)} was broken by force, by ${JSON.stringify(by)}.`);
    }
    if (!this.hub.observed) return;
    const subject = { key, name: DEFAULT_NAME, limit: 1, label: undefined };
    this.hub.emit({ type: 'broken', ...factsOf(subject, this.clock), by });
  }

  /** For a signal that a user gets. */
  signalController(): AbortController {
    return guardedController((error) => {
      this.log.warn(`A listener of a lock's signal threw: ${textOf(error)}`);
    });
  }

  private tell(error: Error): void {
    const tell = this.untold.get(error);
    this.untold.delete(error);
    tell?.();
  }

  closed(key: string): LockClosedError {
    return new LockClosedError(
      `The lock "${key}" is not given out any more: the application has shut down what uses locks. ` +
        'Await work that needs locks in a shutdown hook, so that they are kept open for it.',
      { keys: [key] },
    );
  }
}

/** The same caller, about another of its keys. */
function at(
  key: string,
  { name, limit, label, startedAt, waitTime, holding, skips }: UnservedCaller,
): UnservedCaller {
  return { key, name, limit, label, startedAt, waitTime, holding, skips };
}

/** A limit in the words of the options. */
function sharingText(limit: number): string {
  if (limit === Infinity) return "mode 'shared'";
  return limit === 1 ? "mode 'exclusive' (limit 1)" : `limit ${String(limit)}`;
}

/** As the command line shows a holder: host, process, label, and since when. */
function holderText({ process, label, acquiredAt, isHere, isOpen, others }: KnownHolder): string {
  const who = process === undefined ? 'other software' : `${process.host} pid ${String(process.pid)}`;
  const labelled = label === undefined ? '' : ` (${JSON.stringify(label)})`;
  const since = acquiredAt === undefined ? '' : ` since ${new Date(acquiredAt).toISOString()}`;
  const more = others === 0 ? '' : ` and ${String(others)} more`;
  const here = isHere && !isOpen ? ', which is this process' : '';
  const handle = isOpen
    ? ', by a handle of acquire() that is not released. If this call belongs to the work of that handle, it waits for ' +
      'itself: run that work in handle.run(fn), where the lock is re-entered, or use withLock(). Else release the handle.'
    : '.';
  return ` The holder is ${who}${labelled}${since}${more}${here}${handle}`;
}

function publicHolder({ token, acquiredAt, label, process }: KnownHolder): LockTimeoutHolder {
  return { token, acquiredAt, label, process };
}
