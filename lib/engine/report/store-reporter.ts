import { type Clock, later } from '../../common/clock.js';
import { inMs } from '../../common/durations.js';
import { sentenceOf } from '../../common/sentence.js';
import { CallbackTimer, type TimerQueue } from '../../common/timer-queue.js';
import type { StoreStatus } from '../../model/lock-status.js';
import { LockUnavailableError } from '../../model/lock.errors.js';
import type { LockStoreError } from '../../stores/port/lock-store.js';
import type { EngineLog, EventHub } from './event-hub.js';

/** How long requests of waiting callers may fail before that is reported, ms: longer than most failovers. */
const PATIENCE = 1_500;

/** Whether the store is reachable: logged once for each change, not for each call. */
export class StoreReporter {
  /** The last logged problem, if the store has not replied since: that it is unreachable, or why it rejects requests. */
  private trouble: string | undefined;
  /** Whether locks are valid in this process only. */
  isLocal = false;
  private reachable: boolean | undefined;
  private since: number | undefined;
  private error: LockStoreError | undefined;
  /** Since when calls or checks fail because of the store, and why; undefined once a lock was granted. */
  private failing: { readonly since: number; readonly cause: LockStoreError } | undefined;
  /** Why the last request of a waiting caller failed, if none has succeeded since. */
  private waitFailure: LockStoreError | undefined;
  private readonly patience = new CallbackTimer(() => {
    this.waitersCut();
  });
  /** Whether an `unavailable` event was emitted for waiting calls, and the store has not replied since. */
  private isAnnounced = false;
  /** When `status` first found too few connections open. */
  private closedSince: number | undefined;
  /** Logs which store it is, if it was unreachable when the application started. */
  private introduction: (() => void) | undefined;

  constructor(
    private readonly hub: EventHub,
    private readonly clock: Clock,
    private readonly log: EngineLog,
    private readonly store: { readonly name: string },
    private readonly timers: TimerQueue,
  ) {}

  /**
   * The store is unreachable when the application starts.
   *
   * @param introduce logs which store it is; called once the store has replied
   */
  missing(cause: LockStoreError, introduce: () => void): void {
    this.unfit(cause);
    this.introduction = introduce;
    if (this.isLocal) return; // already logged, and locks can be acquired
    this.trouble = troubleOf(cause);
    this.log.warn(
      `Locks can't be acquired yet: ${cause.advice} They fail with LockUnavailableError until ${this.store.name} is reachable.`,
    );
  }

  /**
   * Whether the store is reachable, as far as is known, and since when.
   *
   * @param isCutOff whether too few connections are open: the store is unreachable, though no request has failed yet
   */
  status(
    isCutOff = false,
  ): Pick<StoreStatus, 'name' | 'reachable' | 'since' | 'failingSince' | 'error' | 'remedy'> {
    const { store, reachable, since, failing } = this;
    const isCut = reachable === true && isCutOff;
    this.closedSince = isCut ? (this.closedSince ?? this.clock.wall()) : undefined;
    const cause = this.error ?? failing?.cause;
    return {
      name: store.name,
      reachable: isCut ? false : reachable,
      since: this.closedSince ?? since,
      failingSince: failing?.since,
      error: cause ?? (isCut ? new Error('its connections are closed') : undefined),
      remedy: cause?.remedy,
    };
  }

  /** Whether calls or checks have failed because of the store, and no lock has been granted since. */
  get isFailing(): boolean {
    return this.failing !== undefined;
  }

  /** The store has granted a lock. */
  granted(): void {
    this.failing = undefined;
  }

  /** A check found that no lock can be acquired, or got no reply. */
  unfit(cause: LockStoreError): void {
    this.requestEnded(cause);
    if (!this.isLocal) this.failing = { since: this.failing?.since ?? this.clock.wall(), cause };
  }

  /** The outcome of a request that only changes the status: a failure, or none. */
  requestEnded(failure: LockStoreError | undefined): void {
    // These replies come from this process.
    if (this.isLocal) return;
    // A rejection shows that the store is reachable.
    const reachable = failure === undefined || !isSilence(failure);
    this.error = reachable ? undefined : failure;
    if (reachable === this.reachable) return;
    this.reachable = reachable;
    this.since = this.clock.wall();
  }

  /** The store has replied; logged once after a failure. */
  answered(): void {
    if (this.reachable !== true) this.requestEnded(undefined);
    if (this.waitFailure !== undefined) this.forgetWait();
    // Only a grant ends a state of rejection.
    if (this.failing !== undefined && isSilence(this.failing.cause)) this.failing = undefined;
    if (this.trouble === undefined) return;
    this.trouble = undefined;
    // As prominent as the beginning: whoever filters by level sees both.
    this.log.warn(`Locks can be acquired in ${this.store.name} again.`);
    this.introduce();
    if (this.isAnnounced) this.hub.emit({ type: 'available', at: this.clock.wall() });
    this.isAnnounced = false;
  }

  /** A request of waiting callers has failed and is being repeated: reported unless one succeeds in time. */
  waitFailed(failure: LockStoreError): void {
    this.requestEnded(failure);
    if (this.isLocal || this.isAnnounced) return;
    if (this.waitFailure === undefined)
      this.timers.set(this.patience, later(this.clock.monotonic(), PATIENCE));
    this.waitFailure = failure;
  }

  /** A call fails because of the store. Not logged while locks are local: such calls concern holds in the store. */
  failed(failure: LockStoreError): void {
    const trouble = troubleOf(failure);
    this.unfit(failure);
    if (this.trouble === trouble || this.isLocal) return;
    this.trouble = trouble;
    this.log.warn(`Locks can't be acquired in ${this.store.name}: ${failure.advice}`);
  }

  /** Locks are valid in this process only, or in the store again. */
  locksLocally(isLocal: boolean, error: LockStoreError | undefined): void {
    if (isLocal === this.isLocal) return;
    if (error !== undefined) this.requestEnded(error);
    this.isLocal = isLocal;
    this.failing = undefined;
    if (!isLocal) this.requestEnded(undefined);
    this.trouble = undefined;
    this.isAnnounced = false;
    this.forgetWait();
    if (isLocal) {
      const why = error === undefined ? '.' : `: ${sentenceOf(error.message)}`;
      this.log.warn(
        `Locks are acquired in this process only${why} Other processes are not excluded until ${this.store.name} is reachable again.`,
      );
    } else {
      this.log.warn(`Locks are acquired in ${this.store.name} again.`);
      this.introduce();
    }
    this.hub.emit({ type: 'local', at: this.clock.wall(), local: isLocal, error });
  }

  /** No request of waiting callers has succeeded in time. */
  private waitersCut(): void {
    const { waitFailure } = this;
    if (waitFailure === undefined) return;
    this.failed(waitFailure);
    this.isAnnounced = true;
    const error = new LockUnavailableError(
      `Calls wait for locks, and requests to the store have failed for ${inMs(PATIENCE)}: ${waitFailure.advice}`,
      { keys: [], cause: waitFailure },
    );
    this.hub.emit({ type: 'unavailable', at: this.clock.wall(), error });
  }

  private forgetWait(): void {
    this.timers.clear(this.patience);
    this.waitFailure = undefined;
  }

  private introduce(): void {
    this.introduction?.();
    this.introduction = undefined;
  }
}

/** The failures of one outage have many messages: no connection, no reply, a closed socket. */
function troubleOf(failure: LockStoreError): string {
  return isSilence(failure) ? '' : failure.message;
}

/** Whether the store did not reply, rather than rejecting the request. */
export function isSilence({ unreachable, inDoubt }: LockStoreError): boolean {
  return unreachable || inDoubt;
}
