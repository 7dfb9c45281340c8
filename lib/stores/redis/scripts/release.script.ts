import type { LockStoreError, ReleaseReply } from '../../port/lock-store.js';
import { refusal } from '../connection/redis-failure.js';
import { ManyScript } from './script.js';

export const releaseScript = new ManyScript({
  name: 'release',
  keys: ['lock', 'queue', 'waiters', 'gone'],
  args: ['owner', 'tombstone'],
  sharedKeys: ['fence'],
  sharedArgs: [],
  decode(reply): ReleaseReply | LockStoreError {
    if (typeof reply === 'string') return refusal(reply);
    return reply === 0 ? 'not-held' : 'released';
  },
});
