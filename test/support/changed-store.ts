import { MemoryLockStore } from '../../lib/index.js';
import type { LockStore, LockStoreSession } from '../../lib/stores/port/index.js';

export type Requests = Pick<LockStoreSession, 'acquire' | 'release' | 'renew'>;

/** A store in memory, of whose sessions a test changes a part. */
export function changedStore(change: (real: Requests) => Partial<LockStoreSession>): LockStore {
  const memory = new MemoryLockStore();
  return {
    name: 'a changed store',
    open: (client) => {
      const session = memory.open(client);
      const real: Requests = {
        acquire: session.acquire.bind(session),
        release: session.release.bind(session),
        renew: session.renew.bind(session),
      };
      return Object.assign(session, change(real));
    },
  };
}
