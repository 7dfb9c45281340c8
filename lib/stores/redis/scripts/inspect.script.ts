import type { StoredHold, WallClockMs } from '../../lock-store.js';
import { Script } from './script.js';

export const inspectScript = new Script({
  name: 'inspect',
  keys: ['lock', 'queue', 'waiters'],
  args: ['client'],
  decode(reply): StoredHold | null {
    const [owner, token, since, ttl, waiting] = reply as [string?, string?, string?, number?, number?];
    if (owner === undefined) return null;
    return {
      owner,
      token: token ? Number(token) : undefined,
      since: since ? (Number(since) as WallClockMs) : undefined,
      leaseLeft: ttl === undefined || ttl < 0 ? undefined : ttl,
      waiting: waiting ?? 0,
    };
  },
});
