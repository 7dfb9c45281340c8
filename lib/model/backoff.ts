import { LockOptionsError } from './lock.errors.js';
import { check, checkNames, checkObject, checkTime } from './option-checks.js';

/** How long a call with `retry` pauses between its tries. {@link fixed} and {@link exponential} make it. */
export class Backoff {
  /** @param jitter the share of a pause that is random, 0 … 1 */
  constructor(
    private readonly min: number,
    private readonly max: number,
    private readonly jitter: number,
  ) {
    Object.freeze(this);
  }

  /**
   * The pause after so many tries (from 1), ms: `min`, doubled with every further try, and `max` at most. Callers that
   * tried at the same time shall not do so again, so a share of it is random: 0.5 is the "equal jitter", 1 the "full
   * jitter" of https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/. Those go below the first pause;
   * here `min` is kept, and what there is no room for below is added above.
   */
  pauseAfter(tries: number, random: () => number = Math.random): number {
    const full = Math.min(this.max, this.min * 2 ** (tries - 1));
    const least = Math.max(this.min, full * (1 - this.jitter));
    const most = Math.min(this.max, least + full * this.jitter);
    return least + random() * (most - least);
  }
}

/** What {@link exponential} takes. Times are milliseconds. */
export interface ExponentialOptions {
  /**
   * The shortest pause, with which it begins: 1 … 2 147 483 647.
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
   * The share of each pause that is random, so that callers spread out: 0 (none) … 1. It never leads below `min` or
   * above `max`.
   *
   * @default 0.5
   */
  readonly jitter?: number | undefined;
}

/**
 * The same pause between all tries.
 *
 * @param ms 1 … 2 147 483 647
 * @throws LockOptionsError for anything else
 */
export function fixed(ms: number): Backoff {
  const pause = checkTime('fixed()', 'ms', ms, { min: 1 });
  return new Backoff(pause, pause, 0);
}

const KNOWN = new Set(['min', 'max', 'jitter']);

/**
 * Pauses that double from `min` to `max`.
 *
 * @throws LockOptionsError for options that can't work
 */
export function exponential(options: ExponentialOptions = {}): Backoff {
  const where = 'exponential()';
  checkNames(where, checkObject(where, options), KNOWN);
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
}
