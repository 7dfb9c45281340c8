import type { WallClockMs } from '../../port/lock-store.js';
import { ManyScript } from './script.js';

/** Answered for a lock that is free, or has room, but that others asked for before. */
export const BEHIND_OTHERS = -3;

/** The first token and the time of a grant, or for how long the lock is held: -2 or -3 when something else is in the way. */
export type TakeReply =
  | { readonly token: number; readonly since: WallClockMs }
  | { readonly token: undefined; readonly ttl: number };

export const takeScript = new ManyScript({
  name: 'take',
  keys: ['lock', 'queue', 'gone'],
  args: ['owner', 'lease', 'tokens'],
  sharedKeys: ['fence'],
  sharedArgs: [],
  decode(reply): TakeReply {
    if (typeof reply === 'number') return { token: undefined, ttl: reply };
    if (typeof reply === 'string') {
      const token = Number(reply);
      return { token, since: Math.floor(token / 1000) as WallClockMs };
    }
    const [token, since] = reply as [string, string];
    return { token: Number(token), since: Number(since) as WallClockMs };
  },
});
