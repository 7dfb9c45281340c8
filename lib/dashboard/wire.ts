/**
 * What the page is told, as JSON, and what processes leave for each other. Imports nothing: the browser's part is made
 * of it, too. Times called `at` or `since` are ms since the epoch by the clock of the process that tells them; those that
 * say for how long are ms. `null` stands for what JSON can't say: a limit without bound, a lease without end.
 */

/** What a hold, a wait or an event is about. */
export interface ShownUse {
  readonly key: string;
  readonly name: string;
  readonly mode: 'exclusive' | 'shared';
  /** `null`: any number, such as readers. */
  readonly limit: number | null;
  readonly label: string | null;
}

export interface ShownHold extends ShownUse {
  readonly token: number;
  readonly since: number;
  readonly heldFor: number;
  /** For how long it is surely held unless it is renewed. */
  readonly remaining: number;
  /** `null`: the watchdog renews it. */
  readonly leaseTime: number | null;
  /** Why its last renewal failed. */
  readonly renewalError: string | null;
  /** Whether it is held in that process only. */
  readonly degraded: boolean;
}

export interface ShownWait extends ShownUse {
  readonly since: number;
  readonly waitedFor: number;
  /** `null`: without limit. */
  readonly waitTime: number | null;
}

/** A key that calls of the process wait for. */
export interface BusyKey {
  readonly key: string;
  readonly callers: number;
  /** Of the call that waits longest. */
  readonly longest: number;
  /** Of all its calls together. */
  readonly total: number;
}

export interface ShownLoss extends ShownUse {
  readonly at: number;
  readonly token: number;
  readonly reason: string;
  readonly heldFor: number;
}

/** What happened to a lock while somebody looked. */
export interface ShownEvent {
  readonly type: string;
  readonly key: string;
  readonly at: number;
  readonly label: string | null;
  readonly token: number | null;
  /** How long it was waited for or held; `null` where that is not told. */
  readonly lasted: number | null;
  /** Of a lock that was broken: by whom; of one that was lost: why. */
  readonly detail: string | null;
}

export interface ShownHealth {
  readonly store: string;
  readonly storeVersion: string | null;
  readonly reachable: boolean | null;
  /** Since when that is so. */
  readonly reachableSince: number | null;
  readonly error: string | null;
  readonly connections: number | null;
  readonly openConnections: number | null;
  readonly degraded: boolean;
  readonly closing: boolean;
  readonly holds: number;
  readonly longestHold: number;
  readonly waiters: number;
  readonly longestWait: number;
  readonly renewalsFailing: number;
  readonly leastRemaining: number | null;
  readonly watchdogTimeout: number;
  readonly recentLosses: number;
}

/** What one module instance of one process tells of its locks. */
export interface ProcessSnapshot {
  readonly version: 1;
  /** Of the module instance; owners of its locks start with it. */
  readonly client: string;
  readonly instance: string | null;
  readonly host: string;
  readonly pid: number;
  readonly at: number;
  readonly health: ShownHealth;
  /** The oldest first; not all, if there are very many. */
  readonly held: readonly ShownHold[];
  /** Those who wait longest first; not all, if there are very many. */
  readonly waiting: readonly ShownWait[];
  /** By the time for which they are waited for, the longest first. */
  readonly busiest: readonly BusyKey[];
  /** The newest first. */
  readonly lost: readonly ShownLoss[];
  /** The newest first. */
  readonly recent: readonly ShownEvent[];
}

/** A moment of the last minutes: when, how many holds, how many calls that wait. */
export type SeriesPoint = readonly [at: number, holds: number, waiting: number];

export interface Overview {
  readonly now: number;
  readonly allowBreak: boolean;
  readonly processes: readonly (ProcessSnapshot & {
    /** How old it is, ms, as far as the clocks of the machines agree. */
    readonly age: number;
  })[];
  readonly series: readonly SeriesPoint[];
  /** What can't be shown, and why. */
  readonly notes: readonly string[];
}

export interface ShownProcess {
  readonly host: string;
  readonly pid: number;
}

export interface ShownHolder {
  readonly token: number | null;
  readonly since: number | null;
  /** Left of the lease; `null`: it has no end. */
  readonly remaining: number | null;
  /** Whether that is only an upper bound. */
  readonly remainingIsBound: boolean;
  readonly label: string | null;
  /** `null`: it was taken by other software. */
  readonly process: ShownProcess | null;
  /** Which client of that process, as in its snapshots; `null` where the process is. */
  readonly client: string | null;
}

export interface ShownWaiter {
  readonly callers: number;
  readonly mode: 'exclusive' | 'shared';
  readonly limit: number | null;
  readonly label: string | null;
  readonly process: ShownProcess | null;
}

/** Which lock: that of a module instance. */
export interface LockAddress {
  readonly key: string;
  readonly instance: string | null;
}

/** A lock as the store knows it. */
export interface ShownLock {
  readonly key: string;
  readonly instance: string | null;
  readonly mode: 'exclusive' | 'shared';
  readonly limit: number | null;
  /** The oldest first. */
  readonly holders: readonly ShownHolder[];
  readonly waiting: number;
  /** In the order in which they are served. */
  readonly waiters: readonly ShownWaiter[];
}

/** Some of the locks that the store has. */
export interface ShownList {
  readonly locks: readonly ShownLock[];
  /** When they were looked at. */
  readonly at: number;
  /** Where to go on; `null` when that was all. */
  readonly cursor: string | null;
}

/** What is asked for to break a lock. */
export interface BreakRequest {
  readonly key: string;
  readonly instance: string | null;
  /** Of the hold that was shown. */
  readonly token: number | null;
}
