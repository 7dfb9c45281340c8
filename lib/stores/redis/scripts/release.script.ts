import type { ReleaseReply } from '../../lock-store.js';
import { ManyScript } from './script.js';

export const releaseScript = new ManyScript({
  name: 'release',
  keys: ['lock', 'queue', 'waiters', 'gone'],
  args: ['owner', 'tombstone'],
  sharedKeys: ['fence'],
  sharedArgs: ['channels'],
  decode: (reply): ReleaseReply => (reply === 0 ? 'not-held' : 'released'),
});
