import { BackgroundRetry } from '../../common/background-retry.js';
import { TimerQueue } from '../../common/timer-queue.js';
import type { LockStoreClient } from './lock-store.js';
import { storeFailure } from './store-failure.js';

/** The timers and the background requests of one session. They are no reason for the process not to exit (B14). */
export class SessionTimers {
  readonly timers: TimerQueue;
  readonly retry: BackgroundRetry;

  /** @param readsInputFirst see `TimerQueue` */
  constructor(client: Pick<LockStoreClient, 'now'>, readsInputFirst = false) {
    const clock = { monotonic: () => client.now() };
    this.timers = new TimerQueue(clock, false, readsInputFirst);
    this.retry = new BackgroundRetry(clock, this.timers, (error) => storeFailure(error).inDoubt);
  }

  close(): void {
    this.retry.stop();
    this.timers.close();
  }
}
