/**
 * The JSON that the page receives, and that processes publish for each other. Imports nothing, since it is also part of
 * the browser bundle. `at` and `since` are ms since the epoch by the clock of the process that reports them; durations
 * are ms. `null` stands for an unlimited number, such as a lease without end, and for missing values.
 */

/** The lock of a hold or a loss. */
export interface ShownUse {
  readonly key: string;
  readonly operation: string;
  readonly mode: 'exclusive' | 'shared';
  /** `null`: unlimited, as for readers. */
  readonly limit: number | null;
  /** How many permits of a semaphore it has; 1 for other locks. */
  readonly permits: number;
  readonly label: string | null;
}

export interface ShownHold extends ShownUse {
  readonly token: number;
  readonly since: number;
  readonly heldFor: number;
  /** How long it is certainly held, without a renewal. */
  readonly remaining: number;
  /** Why the last renewal failed. */
  readonly renewalError: string | null;
  /** Whether it is held in that process only (`onUnavailable: 'local'`). */
  readonly local: boolean;
}

/** A key with waiting calls of one process. */
export interface BusyKey {
  readonly key: string;
  readonly callers: number;
  /** The longest wait. */
  readonly longest: number;
  /** The sum of all waits. */
  readonly total: number;
}

export interface ShownLoss extends ShownUse {
  readonly at: number;
  readonly token: number;
  readonly reason: string;
  readonly heldFor: number;
}

/** An event of a lock, recorded while there was a visitor. */
export interface ShownEvent {
  readonly type: string;
  readonly key: string;
  readonly at: number;
  readonly label: string | null;
  readonly token: number | null;
  /** How long the lock was waited for or held; `null` if the event has no duration. */
  readonly lasted: number | null;
  /** Who broke the lock, why it was lost, or why its renewal failed. */
  readonly detail: string | null;
}

export interface ShownHealth {
  readonly store: string;
  readonly storeVersion: string | null;
  readonly reachable: boolean | null;
  readonly error: string | null;
  readonly connections: number | null;
  readonly openConnections: number | null;
  readonly local: boolean;
  readonly closing: boolean;
  readonly holds: number;
  readonly longestHold: number;
  readonly waiters: number;
  readonly longestWait: number;
  readonly renewalsFailing: number;
  readonly recentLosses: number;
}

/** The locks of one module instance of one process. */
export interface ProcessSnapshot {
  readonly version: 1;
  /** The client id; owners of its locks start with it. */
  readonly client: string;
  readonly instance: string | null;
  readonly host: string;
  readonly pid: number;
  readonly at: number;
  readonly health: ShownHealth;
  /** Oldest first; truncated if there are very many. */
  readonly held: readonly ShownHold[];
  /** Sorted by `total`, largest first. */
  readonly busiest: readonly BusyKey[];
  /** Newest first. */
  readonly lost: readonly ShownLoss[];
  /** Newest first. */
  readonly recent: readonly ShownEvent[];
}

/** Number of holds and of waiting calls at one time. */
export type SeriesPoint = readonly [at: number, holds: number, waiting: number];

export interface Overview {
  readonly now: number;
  readonly allowBreak: boolean;
  readonly processes: readonly (ProcessSnapshot & {
    /** Age of the snapshot, ms, if the clocks of the machines agree. */
    readonly age: number;
  })[];
  readonly series: readonly SeriesPoint[];
  /** What is missing from this overview, and why. */
  readonly notes: readonly string[];
}

export interface ShownProcess {
  readonly host: string;
  readonly pid: number;
}

export interface ShownHolder {
  readonly token: number | null;
  readonly since: number | null;
  /** Rest of the lease; `null`: no end. */
  readonly remaining: number | null;
  /** Whether `remaining` is only an upper bound. */
  readonly remainingIsBound: boolean;
  readonly permits: number;
  readonly label: string | null;
  /** `null`: other software. */
  readonly process: ShownProcess | null;
  /** The client id, as in snapshots; `null` for other software. */
  readonly client: string | null;
}

export interface ShownWaiter {
  readonly callers: number;
  readonly mode: 'exclusive' | 'shared';
  readonly limit: number | null;
  readonly permits: number;
  readonly label: string | null;
  readonly process: ShownProcess | null;
}

/** Identifies a lock: different module instances have different locks. */
export interface LockAddress {
  readonly key: string;
  readonly instance: string | null;
}

/** A lock as the store reports it. */
export interface ShownLock extends LockAddress {
  readonly mode: 'exclusive' | 'shared';
  readonly limit: number | null;
  /** Of a semaphore; `null` for other locks. */
  readonly permits: { readonly held: number; readonly free: number } | null;
  /** Oldest first. */
  readonly holders: readonly ShownHolder[];
  readonly waiting: number;
  /** In the order of the queue. */
  readonly waiters: readonly ShownWaiter[];
}

/** One page of the locks in the store. */
export interface ShownList {
  readonly locks: readonly ShownLock[];
  /** When the store was read. */
  readonly at: number;
  /** For the next page; `null` after the last one. */
  readonly cursor: string | null;
}

export interface BreakRequest extends LockAddress {
  /** Token of the hold that was shown. */
  readonly token: number | null;
}
