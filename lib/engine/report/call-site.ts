import type { Clock } from '../../common/clock.js';

/** Where code called a method of the service. */
export interface CallSite {
  /** Absent if it was not captured. */
  readonly stack?: string;
}

/**
 * Frames of this library on top, and the number kept in total: the first outside frame may be a helper of the application.
 */
const OWN_FRAMES = 2;
const FRAMES = OWN_FRAMES + 4;

/** The most captures per second, since each takes more than a microsecond. */
const MOST = 1_000;
const SECOND = 1_000;

const UNKNOWN: CallSite = {};

/** Captures where `acquire()` was called, to help find a missing `release()`. */
export class CallSites {
  private since = -Infinity;
  private count = 0;

  constructor(
    private readonly clock: Pick<Clock, 'monotonic'>,
    readonly isWanted: boolean,
  ) {}

  /** Call it in the method itself, before any `await`, so that the caller is on the stack. */
  capture(): CallSite {
    if (!this.isWanted || !this.hasRoom()) return UNKNOWN;
    const { stackTraceLimit } = Error;
    const site: CallSite = {};
    Error.stackTraceLimit = FRAMES;
    Error.captureStackTrace(site);
    Error.stackTraceLimit = stackTraceLimit;
    return site;
  }

  private hasRoom(): boolean {
    this.count += 1;
    if (this.count <= MOST) return true;
    const now = this.clock.monotonic();
    if (now - this.since < SECOND) return false;
    this.since = now;
    this.count = 1;
    return true;
  }
}

/**
 * The calls outside of the library, innermost first, such as `at Orders.ship (/app/orders.js:12:30)`. Formatted only
 * when read.
 */
export function callsOf({ stack = '' }: CallSite): readonly string[] {
  return stack
    .split('\n')
    .slice(1 + OWN_FRAMES)
    .map((line) => line.trim());
}
