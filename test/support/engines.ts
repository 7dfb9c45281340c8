import { jest } from '@jest/globals';
import type { Clock } from '../../lib/common/clock.js';
import { LockEngine, type EngineSettings } from '../../lib/engine/lock-engine.js';
import type { LockStore, MonotonicMs, WallClockMs } from '../../lib/stores/port/index.js';

/** Advances with Jest's fake timers. */
export const fakeClock: Clock = {
  monotonic: () => jest.now() as MonotonicMs,
  wall: () => jest.now() as WallClockMs,
};

/** An engine without a log. */
export function engineOn(
  store: LockStore,
  settings: Partial<EngineSettings> = {},
  clock?: Clock,
): LockEngine {
  const log = { log: () => undefined, warn: () => undefined };
  return new LockEngine(store, { watchdogTimeout: 30_000, shutdownTimeout: 0, ...settings }, log, clock);
}
