import { fixed } from '../backoff.js';
import type { ResolvedRetry } from '../lock-retry.options.js';
import type { Acquisition } from './acquisition.js';
import type { LockEngine } from './lock-engine.js';

/** A caller that may not wait gets a lock that is free, and nothing else. */
export const ONCE: ResolvedRetry = { maxAttempts: 1, backoff: fixed(1) };

/** How many callers of this process wait for a key: in line, or by trying again. */
export function countWaiting(engine: LockEngine, key: string): number {
  let waiting = engine.callersOf(key).length;
  for (const polling of engine.pollings) if (polling.waitsFor(key)) waiting += 1;
  return waiting;
}

/** Whether as many callers wait for the key already as this one accepts. */
export function isFull(engine: LockEngine, caller: Acquisition): boolean {
  return countWaiting(engine, caller.key) >= caller.maxWaiting;
}
