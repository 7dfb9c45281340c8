import type { MonotonicMs, WallClockMs } from '../port/lock-store.js';

/** What one member has granted. */
export interface Vote {
  readonly startedAt: MonotonicMs;
  readonly lease: number;
  readonly token: number;
  readonly tokens: number;
  readonly since: WallClockMs;
  readonly othersWait: boolean;
}

/** What a majority has granted, and what every member is to know of it. */
export interface QuorumHold {
  readonly token: number;
  readonly since: WallClockMs;
  /** The last of the tokens that this hold, and those that follow it in the process, may use. */
  readonly floor: number;
}

/** Left for clocks of different speed. */
const DRIFT = 0.01;

/** Until when a vote may be relied on. */
export function endOf({ startedAt, lease }: Vote): number {
  return startedAt + lease * (1 - DRIFT);
}
