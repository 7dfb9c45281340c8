import type { Clock } from '../../common/clock.js';
import type { StoreStatus } from '../../model/lock-status.js';
import type { LockStoreError } from '../../stores/port/lock-store.js';
import type { EngineLog } from './engine-log.js';
import type { EventHub } from './event-hub.js';

/** Tells the operator whether the store can be asked: once for each change, not for each call. */
export class StoreReporter {
  /** Why the store could not be asked last, if it has not answered since. */
  private trouble: string | undefined;
  /** Whether locks are taken in this process only. */
  isLocal = false;
  private reachable: boolean | undefined;
  private since: number | undefined;
  private error: LockStoreError | undefined;
  /** Since when calls or checks fail because of the store, and why, if no lock has been granted since. */
  private failing: { readonly since: number; readonly cause: LockStoreError } | undefined;
  /** What is still to be said of a store that was not there when the application started. */
  private introduction: (() => void) | undefined;

  constructor(
    private readonly hub: EventHub,
    private readonly clock: Clock,
    private readonly log: EngineLog,
    private readonly store: { readonly name: string },
  ) {}

  /**
   * The store is not there when the application starts.
   *
   * @param introduce says what the store is, as soon as it has answered
   */
  missing(cause: LockStoreError, introduce: () => void): void {
    this.unfit(cause);
    this.introduction = introduce;
    if (this.isLocal) return; // has been said, and locks can be taken
    this.trouble = cause.message;
    this.log.warn(
      `Locks can't be taken yet: ${cause.message}. They fail with LockUnavailableError until ${this.store.name} can be reached.`,
    );
  }

  /** Whether the store can be asked, as far as it is known, and since when. */
  get status(): Pick<StoreStatus, 'name' | 'reachable' | 'since' | 'failingSince' | 'error'> {
    const { store, reachable, since, failing } = this;
    const error = this.error ?? failing?.cause;
    return { name: store.name, reachable, since, failingSince: failing?.since, error };
  }

  /** Whether calls or checks have failed because of the store, and no lock has been granted since. */
  get isFailing(): boolean {
    return this.failing !== undefined;
  }

  /** The store has granted a lock. */
  granted(): void {
    this.failing = undefined;
  }

  /** A check has found that no lock can be acquired, or has got no answer. */
  unfit(cause: LockStoreError): void {
    this.heard(cause);
    if (!this.isLocal) this.failing = { since: this.failing?.since ?? this.clock.wall(), cause };
  }

  /** What came of a request about which nobody but the status has to be told: a failure, or none. */
  heard(failure: LockStoreError | undefined): void {
    // What is answered then, this process answers itself.
    if (this.isLocal) return;
    // What it refuses tells that it is there.
    const reachable = failure === undefined || !(failure.unreachable || failure.inDoubt);
    this.error = reachable ? undefined : failure;
    if (reachable === this.reachable) return;
    this.reachable = reachable;
    this.since = this.clock.wall();
  }

  /** The store has answered; said once after there was trouble. */
  answered(): void {
    if (this.reachable !== true) this.heard(undefined);
    if (this.trouble === undefined) return;
    this.trouble = undefined;
    this.log.log('Locks can be taken again.');
    this.introduce();
  }

  /** A call fails since the store could not be asked. What fails while locks are local is about holds of the store. */
  failed(failure: LockStoreError): void {
    const { message } = failure;
    this.unfit(failure);
    if (this.trouble === message || this.isLocal) return;
    this.trouble = message;
    this.log.warn(`Locks can't be taken: ${message}.`);
  }

  /** Locks are taken in this process only, or in the store again (B65). */
  degraded(isLocal: boolean, error: LockStoreError | undefined): void {
    if (isLocal === this.isLocal) return;
    if (error !== undefined) this.heard(error);
    this.isLocal = isLocal;
    this.failing = undefined;
    if (!isLocal) this.heard(undefined);
    this.trouble = undefined;
    if (isLocal) {
      const why = error === undefined ? '' : `: ${error.message}`;
      this.log.warn(
        `Locks are taken in this process only${why}. Other processes are not kept out until ${this.store.name} can be reached again.`,
      );
    } else {
      this.log.log(`Locks are taken in ${this.store.name} again.`);
      this.introduce();
    }
    this.hub.emit({ type: 'degraded', at: this.clock.wall(), local: isLocal, error });
  }

  private introduce(): void {
    this.introduction?.();
    this.introduction = undefined;
  }
}
