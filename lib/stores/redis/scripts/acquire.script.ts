import type { WallClockMs } from '../../port/lock-store.js';
import { limitOf } from './limit.js';
import { Script } from './script.js';

export type AcquireReply =
  | {
      readonly outcome: 'granted';
      readonly token: number;
      readonly since: WallClockMs;
      readonly tokens: number;
      readonly othersWait: boolean;
    }
  | { readonly outcome: 'queued' | 'busy'; readonly ttl: number; readonly serverTime: number }
  | { readonly outcome: 'cancelled' }
  | { readonly outcome: 'conflict'; readonly limit: number };

export const acquireScript = new Script({
  name: 'acquire',
  keys: ['lock', 'queue', 'waiters', 'gone', 'fence'],
  args: [
    'owner',
    'lease',
    'wait',
    'claim',
    'patience',
    'callers',
    'tokens',
    'way',
    'channel',
    'limit',
    'label',
  ],
  decode(reply): AcquireReply {
    const [outcome, first, second, tokens, others] = reply as [AcquireReply['outcome'], ...string[]];
    if (outcome === 'granted') {
      return {
        outcome,
        token: Number(first),
        since: Number(second) as WallClockMs,
        tokens: Number(tokens),
        othersWait: Number(others) === 1,
      };
    }
    if (outcome === 'cancelled') return { outcome };
    if (outcome === 'conflict') return { outcome, limit: limitOf(Number(first)) };
    return { outcome, ttl: Number(first), serverTime: Number(second) };
  },
});
