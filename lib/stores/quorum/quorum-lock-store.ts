import type { LockStore, LockStoreClient, LockStoreSession } from '../port/lock-store.js';
import { QuorumSession } from './quorum-session.js';

/** Locks on several stores that know nothing of each other: a lock is held while a majority of them grants it (P42). */
export class QuorumLockStore implements LockStore {
  readonly name: string;

  constructor(private readonly members: readonly LockStore[]) {
    const names = members.map(({ name }) => name).join(', ');
    this.name = `a quorum of ${String(members.length)} server${members.length === 1 ? '' : 's'} (${names})`;
  }

  get place(): string | undefined {
    return this.members[0]?.place;
  }

  open(client: LockStoreClient): LockStoreSession {
    return new QuorumSession(this.members, client);
  }
}
