import { LockOptionsError } from './lock.errors.js';
import { check, checkNames, checkObject, checkTime, shown } from './option-checks.js';

/** The pauses of a call with `retry` between its attempts. Created by {@link backoff}. */
export class Backoff {
  /** @param jitter the random part of a pause, 0 … 1 */
  constructor(
    private readonly min: number,
    private readonly max: number,
    private readonly jitter: number,
  ) {
    Object.freeze(this);
  }

  /**
   * The pause after an attempt (from 1), ms: `min`, doubled with every further attempt, at most `max`. Part of it is
   * random, so that callers that collided once do not collide again: 0.5 is the "equal jitter", 1 the "full jitter" of
   * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/. Unlike there, no pause is shorter than
   * `min`; the random part is then added to it.
   */
  pauseAfter(tries: number, random: () => number = Math.random): number {
    const full = Math.min(this.max, this.min * 2 ** (tries - 1));
    const least = Math.max(this.min, full * (1 - this.jitter));
    const most = Math.min(this.max, least + full * this.jitter);
    return least + random() * (most - least);
  }
}

/** Options of `backoff.exponential()`. Times are milliseconds. */
export interface ExponentialOptions {
  /**
   * The first and shortest pause: 1 … 2 147 483 647.
   *
   * @default 50
   */
  readonly min?: number | undefined;
  /**
   * The longest pause: `min` … 2 147 483 647.
   *
   * @default 1_000
   */
  readonly max?: number | undefined;
  /**
   * The random part of each pause, which spreads callers out: 0 (none) … 1. Pauses stay between `min` and `max`.
   *
   * @default 0.5
   */
  readonly jitter?: number | undefined;
}

const EXPONENTIAL_OPTIONS = new Set(['min', 'max', 'jitter']);

/** The pauses between the attempts of a call with `retry`. */
export const backoff = {
  /**
   * The same pause between all attempts.
   *
   * @param ms 1 … 2 147 483 647
   * @throws LockOptionsError for anything else
   */
  fixed(ms: number): Backoff {
    const pause = checkTime('backoff.fixed()', 'ms', ms, { min: 1 });
    return new Backoff(pause, pause, 0);
  },

  /**
   * Pauses that double from `min` to `max`.
   *
   * @throws LockOptionsError for invalid options
   */
  exponential(options: ExponentialOptions = {}): Backoff {
    const where = 'backoff.exponential()';
    checkNames(where, checkObject(where, options), EXPONENTIAL_OPTIONS);
    const { min = 50, max = 1_000, jitter = 0.5 } = options;
    const shortest = checkTime(where, 'min', min, { min: 1 });
    const longest = checkTime(where, 'max', max, { min: 1 });
    if (shortest > longest) {
      const ofMax = options.max === undefined ? ', its default; give a larger one' : '';
      throw new LockOptionsError(
        `${where}: min must be at most max; got ${String(min)}, and max is ${String(max)}${ofMax}.`,
      );
    }
    const isShare = typeof jitter === 'number' && jitter >= 0 && jitter <= 1;
    check(isShare, where, 'jitter must be a number from 0 to 1', jitter);
    return new Backoff(shortest, longest, jitter);
  },
} as const;

/** How a call retries instead of waiting in the queue. */
export interface LockRetryOptions {
  /**
   * The largest number of attempts, including the first: an integer from 1, or `Infinity`. Attempts that the store did
   * not reply to count.
   *
   * @default Infinity
   */
  readonly maxAttempts?: number | undefined;
  /**
   * The pauses between the attempts: `backoff.fixed(ms)` or `backoff.exponential({ min, max, jitter })`.
   *
   * @default backoff.exponential()
   */
  readonly backoff?: Backoff | undefined;
}

export interface ResolvedRetry {
  readonly maxAttempts: number;
  readonly backoff: Backoff;
}

const RETRY_OPTIONS = new Set(['maxAttempts', 'backoff']);
const DEFAULT_BACKOFF = backoff.exponential();

/** Checks `retry` and fills in the defaults. */
export function resolveRetry(where: string, retry: unknown): ResolvedRetry {
  if (typeof retry !== 'object' || retry === null || Array.isArray(retry) || retry instanceof Backoff) {
    const got = retry instanceof Backoff ? 'only a backoff' : shown(retry);
    throw new LockOptionsError(
      `${where}: retry must be an object such as { maxAttempts: 5, backoff: backoff.fixed(100) }; got ${got}.`,
    );
  }
  checkNames(`${where}: retry`, retry, RETRY_OPTIONS);
  const { maxAttempts = Infinity, backoff: pauses = DEFAULT_BACKOFF }: Partial<Record<string, unknown>> = {
    ...retry,
  };
  const isCount = typeof maxAttempts === 'number' && Number.isSafeInteger(maxAttempts) && maxAttempts >= 1;
  check(
    isCount || maxAttempts === Infinity,
    where,
    'retry.maxAttempts must be an integer from 1, or Infinity',
    maxAttempts,
  );
  const rule = 'retry.backoff must be backoff.fixed(ms) or backoff.exponential({ min, max, jitter })';
  check(pauses instanceof Backoff, where, rule, pauses);
  return { maxAttempts, backoff: pauses };
}
