import type { LockStore, LockStoreClient, LockStoreSession } from '../port/lock-store.js';
import { MemoryLocks } from './memory-locks.js';
import { openMemory } from './memory-session.js';

/**
 * Locks of this process only, for development and tests. Modules with the same object use the same locks, like
 * applications on the same Redis.
 */
export class MemoryLockStore implements LockStore {
  readonly name = 'the memory of this process';
  private readonly locks = new MemoryLocks();

  open(client: LockStoreClient): LockStoreSession {
    return openMemory(this.locks, client);
  }
}
