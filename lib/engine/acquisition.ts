import type { MonotonicMs } from '../stores/lock-store.js';
import type { ResolvedLockOptions } from '../lock.options.js';
import type { Alarms } from './alarms.js';
import type { Hold } from './hold.js';
import { Wait } from './wait.js';

/** One caller's wish for a lock. */
export class Acquisition extends Wait<Hold> {
  readonly leaseTime: number | undefined;
  /** The lease to ask the store for, ms. */
  readonly lease: number;
  /** Whether its `queued` event was emitted. */
  queuedTold = false;

  constructor(
    readonly key: string,
    readonly holding: readonly string[],
    options: ResolvedLockOptions,
    startedAt: MonotonicMs,
    alarms: Alarms,
    watchdogTimeout: number,
  ) {
    super(alarms, startedAt, options.waitTime, options.signal);
    this.leaseTime = options.leaseTime;
    this.lease = options.leaseTime ?? watchdogTimeout;
  }
}
