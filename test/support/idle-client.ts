import type { LockStoreClient, MonotonicMs } from '../../lib/stores/port/index.js';

const nothing = (): void => undefined;

/** A client of a store that ignores all notifications. */
export const idleClient: LockStoreClient = {
  id: 'idle',
  watchdogTimeout: 30_000,
  now: () => performance.now() as MonotonicMs,
  granted: nothing,
  broken: nothing,
  heldByOthers: nothing,
  isWanted: () => true,
  pollNow: nothing,
  reconnected: nothing,
  locksLocally: nothing,
  warn: nothing,
};
