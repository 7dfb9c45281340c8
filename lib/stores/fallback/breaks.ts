import { breakHold } from '../port/forwarding-session.js';
import type { BreakReply, LockStoreSession, NamedHold } from '../port/lock-store.js';
import type { CircuitBreaker } from './circuit-breaker.js';
import type { LocalLocks } from './local-locks.js';

/** How locks are broken by force. */
export type Breaks = Required<Pick<LockStoreSession, 'forceRelease' | 'breakHold'>>;

/** While the store is away, and for holds that go on here after it is back, those of this process. */
export function breaksOf(
  store: LockStoreSession,
  local: LocalLocks,
  breaker: Pick<CircuitBreaker, 'isOpen'>,
): Breaks {
  return {
    async forceRelease(key: string): Promise<boolean> {
      if (breaker.isOpen) return await local.session.forceRelease(key);
      const wasHeldLocally = local.leaseLeft(key) !== undefined && (await local.session.forceRelease(key));
      return (await store.forceRelease(key)) || wasHeldLocally;
    },

    async breakHold(key: string, hold: NamedHold): Promise<BreakReply> {
      if (breaker.isOpen || local.hasHold(key, hold)) return await local.session.breakHold(key, hold);
      const reply = await breakHold(store, key, hold);
      return reply === 'free' && local.leaseLeft(key) !== undefined ? 'held-by-others' : reply;
    },
  };
}
