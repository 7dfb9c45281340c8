import type { LockHolder, LockInfo } from '../model/lock-info.js';
import type { HeldLock, LockStatus, LostLock } from '../model/lock-status.js';
import type { LockEvent } from '../model/lock.events.js';

/**
 * The JSON that the page receives, and that processes publish for each other. Imports only types, since it is also part
 * of the browser bundle. Times are ms since the epoch by the clock of the process that reports them; durations are ms.
 */

/** A value in JSON: `null` stands for undefined values and for an unlimited number, and errors have their message. */
export type Json<T> = T extends undefined
  ? null
  : T extends Error
    ? { readonly message: string }
    : T extends object
      ? { readonly [Name in keyof T]: Name extends 'limit' ? number | null : Json<T[Name]> }
      : T;

export type ShownHold = Json<HeldLock>;
export type ShownLoss = Json<LostLock>;

/** A key with waiting calls of one process. */
export interface BusyKey {
  readonly key: string;
  readonly callers: number;
  /** The longest wait. */
  readonly longest: number;
  /** The sum of all waits. */
  readonly total: number;
}

/** The events that the page lists: renewals and queue positions show as state, those without a key concern the store. */
export type ListedEvent = Exclude<
  LockEvent,
  { readonly key?: undefined } | { readonly type: 'queued' | 'renewed' | 'closed' }
>;
/** An event of a lock, recorded while there was a visitor. */
export type ShownEvent = Json<ListedEvent>;

/** The locks of one module instance of one process. */
export interface ProcessSnapshot {
  readonly version: 1;
  /** The client id; owners of its locks start with it. */
  readonly client: string;
  readonly instance: string | null;
  readonly host: string;
  readonly pid: number;
  readonly at: number;
  readonly status: Json<LockStatus>;
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

export interface ShownHolder extends Omit<Json<LockHolder>, 'remaining'> {
  /** Rest of the lease; `null`: no end. */
  readonly remaining: number | null;
}

/** Identifies a lock: different module instances have different locks. */
export interface LockAddress {
  readonly key: string;
  readonly instance: string | null;
}

/** A lock as the store reports it. */
export interface ShownLock
  extends LockAddress, Pick<Json<LockInfo>, 'mode' | 'limit' | 'permits' | 'waiting' | 'waiters'> {
  /** Oldest first. */
  readonly holders: readonly ShownHolder[];
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

/**
 * The tokens of a holder after the one that the store knows: a process hands a lock over to its own callers without the
 * store.
 */
export function laterTokens(
  owner: string,
  first: number,
  key: string,
  snapshots: readonly ProcessSnapshot[],
): readonly number[] {
  return snapshots
    .filter(({ client }) => owner.startsWith(`${client}:`))
    .flatMap(({ held }) => held)
    .filter((hold) => hold.key === key && hold.token > first)
    .map(({ token }) => token);
}
