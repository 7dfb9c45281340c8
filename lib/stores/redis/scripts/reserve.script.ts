import type { ReserveReply } from '../../lock-store.js';
import { Script } from './script.js';

export const reserveScript = new Script({
  name: 'reserve',
  keys: ['lock', 'queue', 'fence'],
  args: ['owner', 'lease', 'tokens'],
  decode(reply): ReserveReply {
    if (typeof reply === 'number') return { outcome: reply === 0 ? 'gone' : 'taken' };
    const [token, others] = reply as [string, number];
    return { outcome: 'reserved', token: Number(token), othersWait: others === 1 };
  },
});
