import type { AskReply } from '../../port/lock-store.js';
import type { AcquireReply } from '../scripts/replies.js';

/** Others hold the lock. */
export type Busy = AskReply & { readonly outcome: 'queued' | 'busy' };

/** What the script's answer means for the engine. */
export function replyOf(reply: AcquireReply): AskReply {
  switch (reply.outcome) {
    case 'queued':
    case 'busy':
      return { outcome: reply.outcome, holderLeaseLeft: leftOf(reply.ttl) };
    default:
      return reply;
  }
}

/** ms left, by a ttl of Redis, which is negative for a key without an end. */
export function leftOf(ttl: number): number | undefined {
  return ttl < 0 ? undefined : ttl;
}
