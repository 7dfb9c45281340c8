import type { LockStoreSession, MonotonicMs, OwnerRequest } from '../../stores/port/lock-store.js';
import type { RetriedRequest } from '../../common/background-retry.js';
import { storeFailure } from '../../stores/port/store-failure.js';

/** The errand that takes an owner back from the store, whatever state it is in. */
export class Withdrawal implements RetriedRequest<void, void> {
  constructor(
    private readonly session: LockStoreSession,
    private readonly request: OwnerRequest,
  ) {}

  async attempt(failedInDoubt: boolean): Promise<void> {
    const { key, owner, inDoubt } = this.request;
    try {
      await this.session.cancel({ key, owner, inDoubt: inDoubt || failedInDoubt });
    } catch (error) {
      // Asking again for ever is for what can get through.
      if (storeFailure(error).retryable) throw error;
    }
  }

  /** A late request can turn up for as long as a stopped server or a slow network keeps it. */
  until(): MonotonicMs {
    return Infinity as MonotonicMs;
  }

  resultOf(): void {
    return undefined;
  }
}
