import { LockStoreError, type RenewReply } from '../../stores/port/lock-store.js';
import { storeFailure } from '../../stores/port/store-failure.js';

/** What came of one of several renewals: a store of the user's may leave replies out. */
export function renewalReply(reply: RenewReply | Error | undefined): RenewReply | LockStoreError {
  if (reply === undefined) {
    return new LockStoreError('it gave no reply to the renewal', { inDoubt: true, retryable: true });
  }
  return reply instanceof Error ? storeFailure(reply) : reply;
}
