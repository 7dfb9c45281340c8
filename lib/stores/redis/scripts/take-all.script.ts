import type { Grant, WallClockMs } from '../../port/lock-store.js';
import { ManyScript } from './script.js';

export const takeAllScript = new ManyScript({
  name: 'takeAll',
  keys: ['lock', 'queue', 'gone'],
  args: ['owner', 'lease', 'limit', 'label'],
  sharedKeys: ['fence'],
  sharedArgs: [],
  decode(reply): Grant | number {
    if (typeof reply === 'number') return reply;
    const [token, since] = reply as [string, string];
    return { token: Number(token), since: Number(since) as WallClockMs };
  },
});
