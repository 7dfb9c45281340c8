import type { LockStore, LockStoreClient, LockStoreSession } from '../port/lock-store.js';
import { MemoryLocks } from './memory-locks.js';
import { MemorySession } from './memory-session.js';

/**
 * Locks of this process only, for development and tests. Modules that are given the same object share its locks, as
 * applications on the same Redis do.
 */
export class MemoryLockStore implements LockStore {
  readonly name = 'the memory of this process';
  private readonly locks = new MemoryLocks();

  open(client: LockStoreClient): LockStoreSession {
    return new MemorySession(this.locks, client);
  }
}
