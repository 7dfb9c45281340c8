import type { BackgroundRetry } from '../../common/background-retry.js';
import type { MonotonicMs } from '../../common/clock.js';
import type { LockStoreSession, OwnerId } from '../port/lock-store.js';
import { storeFailure } from '../port/store-failure.js';
import { RETRY_PAUSE } from './circuit-breaker.js';

/**
 * Owners that may have a place or a grant in the store, while they are served in this process. They are cancelled there
 * until the store confirms, so that no grant stays behind that nobody uses.
 */
export class PendingCancels {
  private readonly keys = new Map<OwnerId, string>();
  private isRunning = false;

  constructor(
    private readonly store: LockStoreSession,
    private readonly retry: BackgroundRetry,
  ) {}

  add(owner: OwnerId, key: string): void {
    this.keys.set(owner, key);
  }

  /** The store can be reached: cancels now, and once a second until all are confirmed. */
  start(): void {
    if (this.keys.size === 0) return;
    if (this.isRunning) {
      this.retry.retryNow();
      return;
    }
    this.isRunning = true;
    const until = Infinity as MonotonicMs;
    const request = { attempt: () => this.sendUntilNone(), until: () => until, pause: RETRY_PAUSE };
    void this.retry.complete(request).then(() => {
      this.isRunning = false;
    });
  }

  /** Cancels once. */
  async send(): Promise<void> {
    await Promise.all([...this.keys].map(([owner, key]) => this.cancel(owner, key)));
  }

  private async sendUntilNone(): Promise<void> {
    await this.send();
    if (this.keys.size > 0) throw new Error('some were not confirmed');
  }

  private async cancel(owner: OwnerId, key: string): Promise<void> {
    try {
      await this.store.cancel({ key, owner, inDoubt: true });
    } catch (error) {
      // Asking again for ever is for what can get through.
      if (storeFailure(error).retryable) return;
    }
    this.keys.delete(owner);
  }
}
