import type { LockClock, LockStore, LockStoreClient, LockStoreSession } from '../port/lock-store.js';
import { FallbackSession } from './fallback-session.js';

/** Locks of another store, and of this process only while that store can't be reached (B65). */
export class FallbackLockStore implements LockStore {
  constructor(private readonly store: LockStore) {}

  get name(): string {
    return this.store.name;
  }

  get place(): string | undefined {
    return this.store.place;
  }

  get clock(): LockClock | undefined {
    return this.store.clock;
  }

  open(client: LockStoreClient): LockStoreSession {
    return new FallbackSession(this.store, client);
  }
}
