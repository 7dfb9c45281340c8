import type { WallClockMs } from '../../port/lock-store.js';
import { ManyScript } from './script.js';
import type { TakeReply } from './take.script.js';

export const shareScript = new ManyScript({
  name: 'share',
  keys: ['lock', 'queue', 'gone'],
  args: ['owner', 'lease', 'limit', 'label'],
  sharedKeys: ['fence'],
  sharedArgs: [],
  decode(reply): TakeReply {
    if (typeof reply === 'number') return { token: undefined, ttl: reply };
    const [token, since] = reply as [string, string];
    return { token: Number(token), since: Number(since) as WallClockMs };
  },
});
