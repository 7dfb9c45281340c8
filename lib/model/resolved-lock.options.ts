import { inMs } from '../common/durations.js';
import {
  check,
  checkBound,
  checkCount,
  checkNames,
  checkObject,
  checkOneOf,
  checkTime,
  shown,
} from './option-checks.js';
import { LockOptionsError } from './lock.errors.js';
import { checkName, DEFAULT_NAME } from './lock-kind.js';
import type { LockOptions } from './lock.options.js';
import { resolveRetry, type ResolvedRetry } from './lock-retry.options.js';

/** The options of a call, with defaults. */
export interface ResolvedLockOptions {
  readonly waitTime: number;
  readonly maxWaiting: number;
  readonly leaseTime: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onLost: 'report' | 'throw';
  readonly fair: boolean;
  readonly retry: ResolvedRetry | undefined;
  /** How many may hold the lock at once: 1 for exclusive holds, `Infinity` for shared ones. */
  readonly limit: number;
  readonly holdAtLeast: number;
  readonly label: string | undefined;
  readonly name: string;
  /** Whether the caller does without a busy lock, so that a timeout is not a failure. */
  readonly skips: boolean;
  /** For traces: called when the call begins to wait. */
  readonly onWaiting?: (() => void) | undefined;
}

/** The property that `@Locked` adds to the options of a call. A symbol, so that printed options do not show it. */
export const DECORATED = Symbol('decorated');

export interface DecoratedCall {
  /** The name of the lock without the option `name`. */
  readonly name: string;
  readonly skips: boolean;
}

export const LOCK_OPTION_NAMES = [
  'waitTime',
  'maxWaiting',
  'leaseTime',
  'signal',
  'onLost',
  'fair',
  'retry',
  'mode',
  'limit',
  'holdAtLeast',
  'label',
  'name',
] as const;

/** A shorter lease would end within its own safety margin, even on a fast network; ms. */
const SHORTEST_LEASE = 10;

/** The largest `limit`. */
const LARGEST_LIMIT = 1_000_000;

/** The longest label, characters. */
const LONGEST_LABEL = 200;

const known: ReadonlySet<string> = new Set(LOCK_OPTION_NAMES);

/** Checks the options of a call and applies the defaults. No other place does. */
export function resolveLockOptions(
  where: string,
  options: (LockOptions & { readonly [DECORATED]?: DecoratedCall }) | undefined,
  defaultWaitTime: number,
  defaultMaxWaiting = Infinity,
  skips = false,
): ResolvedLockOptions {
  if (options === undefined) {
    return {
      waitTime: defaultWaitTime,
      maxWaiting: defaultMaxWaiting,
      leaseTime: undefined,
      signal: undefined,
      onLost: 'report',
      fair: false,
      retry: undefined,
      limit: 1,
      holdAtLeast: 0,
      label: undefined,
      name: DEFAULT_NAME,
      skips,
    };
  }
  checkNames(where, checkObject(where, options), known);
  // Not ??, which would accept null.
  const { waitTime = defaultWaitTime, maxWaiting = defaultMaxWaiting, holdAtLeast = 0 } = options;
  const { leaseTime, signal, onLost, fair = false, retry, mode, limit, label, name } = options;
  const decorated = options[DECORATED];
  check(signal === undefined || isAbortSignal(signal), where, 'signal must be an AbortSignal', signal);
  check(typeof fair === 'boolean', where, 'fair must be true or false', fair);
  const wait = checkTime(where, 'waitTime', waitTime, { min: 0, infinite: true });
  const lease =
    leaseTime === undefined ? undefined : checkTime(where, 'leaseTime', leaseTime, { min: SHORTEST_LEASE });
  return {
    waitTime: wait,
    maxWaiting: checkBound(where, 'maxWaiting', maxWaiting),
    leaseTime: lease,
    signal,
    onLost: onLost === undefined ? 'report' : checkOneOf(where, 'onLost', onLost, ['report', 'throw']),
    fair,
    retry: retry === undefined ? undefined : checkRetry(where, resolveRetry(where, retry), wait, fair),
    limit: checkSharing(where, mode, limit),
    holdAtLeast: checkHoldAtLeast(where, holdAtLeast, lease),
    label: label === undefined ? undefined : checkLabel(where, label),
    name: name === undefined ? (decorated?.name ?? DEFAULT_NAME) : checkName(where, name),
    skips: decorated?.skips ?? skips,
  };
}

/** Returns how many may hold the lock at once. */
function checkSharing(where: string, mode: unknown, limit: unknown): number {
  if (mode !== undefined && limit !== undefined) {
    throw new LockOptionsError(
      `${where}: mode and limit exclude each other; got mode ${shown(mode)} and limit ${shown(limit)}. ` +
        "Say mode: 'shared' for readers beside a writer, or limit for a semaphore.",
    );
  }
  if (limit !== undefined) return checkCount(where, 'limit', limit, LARGEST_LIMIT);
  if (mode === undefined) return 1;
  return checkOneOf(where, 'mode', mode, ['exclusive', 'shared']) === 'shared' ? Infinity : 1;
}

function checkHoldAtLeast(where: string, holdAtLeast: unknown, leaseTime: number | undefined): number {
  const atLeast = checkTime(where, 'holdAtLeast', holdAtLeast, { min: 0 });
  if (leaseTime !== undefined && atLeast > leaseTime) {
    throw new LockOptionsError(
      `${where}: holdAtLeast (${inMs(atLeast)}) must not be longer than leaseTime (${inMs(leaseTime)}), ` +
        'after which the lock frees itself. Make leaseTime longer, or leave it out.',
    );
  }
  return atLeast;
}

function checkLabel(where: string, label: unknown): string {
  const isGood =
    typeof label === 'string' && label.length <= LONGEST_LABEL && !/^$|\p{Surrogate}/u.test(label);
  check(isGood, where, `label must be a string of 1 to ${String(LONGEST_LABEL)} characters`, label);
  return label;
}

/** Rejects options that make `retry` useless. */
function checkRetry(where: string, retry: ResolvedRetry, waitTime: number, fair: boolean): ResolvedRetry {
  if (waitTime === 0) {
    throw new LockOptionsError(
      `${where}: retry needs a waitTime, since with waitTime 0 a call never tries again. Give both, such as waitTime: 5_000, or leave retry out.`,
    );
  }
  if (fair) {
    throw new LockOptionsError(
      `${where}: fair and retry exclude each other, since only callers in the queue are served in order. Leave one of them out.`,
    );
  }
  return retry;
}

/** By shape, since a signal may come from another realm. */
function isAbortSignal(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'aborted' in value &&
    'addEventListener' in value &&
    typeof value.addEventListener === 'function' &&
    'throwIfAborted' in value &&
    typeof value.throwIfAborted === 'function'
  );
}
