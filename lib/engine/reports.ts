import { LockClosedError, LockTimeoutError, LockUnavailableError } from '../lock.errors.js';
import type { LockStoreError } from '../stores/lock-store.js';
import type { Acquisition } from './acquisition.js';
import type { Clock } from './clock.js';
import type { EventHub } from './event-hub.js';

/** How the outcome of an acquisition is told: errors to the caller, events to whoever listens. */
export class Reports {
  constructor(
    private readonly hub: EventHub,
    private readonly clock: Clock,
  ) {}

  queued(caller: Acquisition, holderLeaseLeft: number | undefined): void {
    if (caller.queuedTold) return;
    caller.queuedTold = true;
    if (!this.hub.observed) return;
    this.hub.emit({ type: 'queued', key: caller.key, at: this.clock.wall(), holderLeaseLeft });
  }

  granted(caller: Acquisition, token: number): void {
    if (!this.hub.observed) return;
    const waitedFor = this.clock.monotonic() - caller.startedAt;
    this.hub.emit({ type: 'granted', key: caller.key, at: this.clock.wall(), token, waitedFor });
  }

  timedOut(key: string, waitedFor: number, remaining: number | undefined): LockTimeoutError {
    this.hub.emit({ type: 'timeout', key, at: this.clock.wall(), waitedFor });
    const left = remaining === undefined ? '' : ` The holder's lease has ${remaining.toFixed(0)} ms left.`;
    return new LockTimeoutError(
      `The lock "${key}" was held by others for the whole waitTime (${waitedFor.toFixed(0)} ms).${left}` +
        ' Wait longer, hold it for shorter, or look for nested locks taken in opposite orders.',
      { keys: [key], waitedFor, remaining },
    );
  }

  unavailable(key: string, cause: LockStoreError | undefined, waitedFor?: number): LockUnavailableError {
    const after = waitedFor === undefined ? '' : ` within ${waitedFor.toFixed(0)} ms`;
    const why = cause === undefined ? 'no answer' : cause.message;
    const error = new LockUnavailableError(
      `The lock "${key}" could not be asked for${after}: ${why}. Check that the store is up and reachable.`,
      { keys: [key], ...(cause !== undefined && { cause }) },
    );
    this.hub.emit({ type: 'unavailable', key, at: this.clock.wall(), error });
    return error;
  }

  closed(key: string): LockClosedError {
    return new LockClosedError(
      `The lock "${key}" is not given out any more: the application is shutting down.`,
      { keys: [key] },
    );
  }
}
