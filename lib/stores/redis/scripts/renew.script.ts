import type { RenewReply } from '../../port/lock-store.js';
import { ManyScript } from './script.js';

export const renewScript = new ManyScript({
  name: 'renew',
  keys: ['lock'],
  args: ['owner', 'lease'],
  sharedKeys: [],
  sharedArgs: [],
  decode: (reply): RenewReply => (reply === 1 ? 'renewed' : reply === 0 ? 'gone' : 'taken'),
});
