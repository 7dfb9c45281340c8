import type { BackgroundRetry } from '../../common/background-retry.js';
import type { TimerQueue } from '../../common/timer-queue.js';
import type { LockStoreClient, LockStoreSession } from '../port/lock-store.js';

/** What the owners of a session share. */
export interface QuorumContext {
  /** One session with each member. */
  readonly sessions: readonly LockStoreSession[];
  readonly client: LockStoreClient;
  readonly timers: TimerQueue;
  readonly retry: BackgroundRetry;
  /** How long a member may take before it counts as missing, ms. */
  readonly memberTimeout: number;
}
