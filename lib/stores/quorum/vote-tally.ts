import type { AskReply, PushedGrant } from '../port/lock-store.js';
import { majorityOf } from './majority.js';
import type { MemberState } from './member-state.js';
import { endOf, type QuorumHold, type Vote } from './vote.js';

/** What members grant together: the largest token, and as many in a row as each member reserved. */
export function holdBy(votes: readonly Vote[]): QuorumHold {
  const { token, since } = votes.reduce((one, other) => (other.token > one.token ? other : one));
  const tokens = Math.min(...votes.map((vote) => vote.tokens));
  return { token, since, floor: token + tokens - 1 };
}

/** The grant as the reply to a request. Tokens that it brought are told once: they may be in use. */
export function replyOf(hold: QuorumHold, votes: readonly Vote[], isFirst: boolean): AskReply {
  const { token, since, floor } = hold;
  const othersWait = votes.some((vote) => vote.othersWait);
  return { outcome: 'granted', token, since, tokens: isFirst ? floor - token + 1 : 1, othersWait };
}

/** The reply to a request that has not brought the lock. */
export function queued(holderLeaseLeft: number | undefined): AskReply {
  return { outcome: 'queued', holderLeaseLeft };
}

/** The grant as one that was not asked for: it lasts for as long as so many members surely grant it. */
export function pushOf(hold: QuorumHold, votes: readonly Vote[], needed: number): PushedGrant | undefined {
  const last = [...votes].sort((one, other) => endOf(other) - endOf(one))[needed - 1];
  if (last === undefined) return undefined;
  const { token, since, floor } = hold;
  const { startedAt, lease } = last;
  const othersWait = votes.some((vote) => vote.othersWait);
  return { token, since, tokens: floor - token + 1, othersWait, startedAt, lease };
}

/**
 * ms after which so many of the members are free, as far as they told. More than a majority may have to be, but no more
 * than that may have replied: then it takes at least so long.
 */
export function timeUntilFree(
  members: readonly MemberState[],
  needed: number,
  now: number,
): number | undefined {
  const left = members
    .flatMap(({ endsAt, holderLeaseLeft }) => (endsAt > now ? 0 : (holderLeaseLeft ?? [])))
    .sort((one, other) => one - other);
  return left[Math.min(needed, Math.max(left.length, majorityOf(members.length))) - 1];
}
