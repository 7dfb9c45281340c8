import { LockStoreError, type LockStoreSession, type OwnerId } from '../port/lock-store.js';
import { Repetition } from './repetition.js';

/**
 * Owners that may have a place or a grant in the store, while they are served in this process. The store is told until
 * it knows, so that no grant stays behind that nobody uses.
 */
export class PendingCancels {
  private readonly keys = new Map<OwnerId, string>();
  private readonly repetition = new Repetition(() => this.attempt());

  constructor(private readonly store: LockStoreSession) {}

  add(owner: OwnerId, key: string): void {
    this.keys.set(owner, key);
  }

  /** The store can be reached. */
  async begin(): Promise<void> {
    if (this.keys.size > 0) await this.repetition.now();
  }

  stop(): void {
    this.repetition.stop();
  }

  private async attempt(): Promise<boolean> {
    await Promise.all([...this.keys].map(([owner, key]) => this.withdraw(owner, key)));
    return this.keys.size === 0;
  }

  private async withdraw(owner: OwnerId, key: string): Promise<void> {
    try {
      await this.store.cancel({ key, owner, inDoubt: true });
    } catch (error) {
      // Asking again for ever is for what can get through.
      if (!(error instanceof LockStoreError) || error.retryable) return;
    }
    this.keys.delete(owner);
  }
}
