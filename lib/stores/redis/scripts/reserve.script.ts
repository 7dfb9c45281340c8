import type { ReserveReply } from '../../port/lock-store.js';
import { ManyScript } from './script.js';

export const reserveScript = new ManyScript({
  name: 'reserve',
  keys: ['lock', 'queue'],
  args: ['owner', 'lease', 'tokens'],
  sharedKeys: ['fence'],
  sharedArgs: [],
  decode(reply): ReserveReply {
    if (typeof reply === 'number') return { outcome: reply === 0 ? 'gone' : 'taken' };
    const [token, others] = reply as [string, number];
    return { outcome: 'reserved', token: Number(token), othersWait: others === 1 };
  },
});
