import { Backoff, exponential } from './backoff.js';
import { LockOptionsError } from './lock.errors.js';
import { check, checkNames, shown } from './option-checks.js';

/** How a call tries again by itself instead of standing in the queue. */
export interface LockRetryOptions {
  /**
   * How often it tries at most, the first time included: an integer from 1, or `Infinity`. A try that the store did not
   * answer counts too.
   *
   * @default Infinity
   */
  readonly maxAttempts?: number | undefined;
  /**
   * The pauses between the tries: `fixed(ms)` or `exponential({ min, max, jitter })`.
   *
   * @default exponential()
   */
  readonly backoff?: Backoff | undefined;
}

export interface ResolvedRetry {
  readonly maxAttempts: number;
  readonly backoff: Backoff;
}

const KNOWN = new Set(['maxAttempts', 'backoff']);
const DEFAULT_BACKOFF = exponential();

/** Checks `retry` and fills in what is left out. */
export function resolveRetry(where: string, retry: unknown): ResolvedRetry {
  if (typeof retry !== 'object' || retry === null || Array.isArray(retry) || retry instanceof Backoff) {
    const got = retry instanceof Backoff ? 'only a backoff' : shown(retry);
    throw new LockOptionsError(
      `${where}: retry must be an object such as { maxAttempts: 5, backoff: fixed(100) }; got ${got}.`,
    );
  }
  checkNames(`${where}: retry`, retry, KNOWN);
  const { maxAttempts = Infinity, backoff = DEFAULT_BACKOFF }: Partial<Record<string, unknown>> = {
    ...retry,
  };
  const isCount = typeof maxAttempts === 'number' && Number.isSafeInteger(maxAttempts) && maxAttempts >= 1;
  check(
    isCount || maxAttempts === Infinity,
    where,
    'retry.maxAttempts must be an integer from 1, or Infinity',
    maxAttempts,
  );
  const rule = 'retry.backoff must be fixed(ms) or exponential({ min, max, jitter })';
  check(backoff instanceof Backoff, where, rule, backoff);
  return { maxAttempts, backoff };
}
