import { check, checkNames, checkObject, checkOneOf, checkTime } from '../model/option-checks.js';

/** When locks are not well. All times are ms: 0 … 2 147 483 647, or `Infinity` for never. */
export interface LockHealthThresholds {
  /**
   * `down` when the store has not answered for this long, or has granted no lock for this long though calls asked for one. 0 is for those who want to know at once.
   *
   * @default 5_000
   */
  readonly unreachableFor?: number | undefined;
  /**
   * How long to wait for the store's answer to the probe of this check, 1 … 2 147 483 647 ms. No answer in time counts as
   * none.
   *
   * @default 1_000
   */
  readonly probeTimeout?: number | undefined;
  /**
   * Degraded when this process has held a lock for longer than this.
   *
   * @default Infinity
   */
  readonly longestHold?: number | undefined;
  /**
   * Degraded when a call of this process has waited for longer than this.
   *
   * @default Infinity
   */
  readonly longestWait?: number | undefined;
  /**
   * What the status is where locks work, but not well. Terminus knows `'degraded'` from version 12 on. Version 11 leaves
   * such an indicator out of its answer, so that it has to be `'up'` there, with the reasons beside it.
   *
   * @default 'up'
   */
  readonly degradedStatus?: 'up' | 'degraded' | undefined;
}

/** The thresholds with those that were left out. */
export type ResolvedThresholds = {
  readonly [Name in keyof LockHealthThresholds]-?: NonNullable<LockHealthThresholds[Name]>;
};

const KNOWN: ReadonlySet<string> = new Set<keyof LockHealthThresholds>([
  'unreachableFor',
  'probeTimeout',
  'longestHold',
  'longestWait',
  'degradedStatus',
]);

/** @throws LockOptionsError for thresholds that can't be */
export function resolveThresholds(where: string, thresholds: LockHealthThresholds): ResolvedThresholds {
  checkNames(where, checkObject(where, thresholds), KNOWN);
  const { unreachableFor = 5_000, probeTimeout = 1_000 } = thresholds;
  const { longestHold = Infinity, longestWait = Infinity, degradedStatus = 'up' } = thresholds;
  const bounds = { min: 0, infinite: true };
  return {
    unreachableFor: checkTime(where, 'unreachableFor', unreachableFor, bounds),
    probeTimeout: checkTime(where, 'probeTimeout', probeTimeout, { min: 1 }),
    longestHold: checkTime(where, 'longestHold', longestHold, bounds),
    longestWait: checkTime(where, 'longestWait', longestWait, bounds),
    degradedStatus: checkOneOf(where, 'degradedStatus', degradedStatus, ['up', 'degraded']),
  };
}

/** Under which the answer has the result. */
export function checkResultKey(where: string, key: unknown): void {
  check(typeof key === 'string' && key !== '', where, 'key must be a non-empty string, such as "locks"', key);
}
