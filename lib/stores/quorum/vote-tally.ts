import type { AskReply, LockStoreClient, OwnerId, PushedGrant } from '../port/lock-store.js';
import type { QuorumAcquire } from './quorum-acquire.js';
import { majorityOf } from './majority.js';
import { endOf, type QuorumHold, type MemberState, type Vote } from './member-state.js';

/** What members grant together: the largest token, and as many in a row as each member reserved. */
export function holdBy(votes: readonly Vote[]): QuorumHold {
  const { token, since } = votes.reduce((one, other) => (other.token > one.token ? other : one));
  const tokens = Math.min(...votes.map((vote) => vote.tokens));
  return { token, since, floor: token + tokens - 1 };
}

/** The grant as the answer to a question. Tokens that it brought are told once: they may be in use. */
export function replyOf(hold: QuorumHold, votes: readonly Vote[], isFirst: boolean): AskReply {
  const { token, since, floor } = hold;
  const othersWait = votes.some((vote) => vote.othersWait);
  return { outcome: 'granted', token, since, tokens: isFirst ? floor - token + 1 : 1, othersWait };
}

/** The answer to a question that has not brought the lock. */
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
 * Takes a member's word that others hold the lock there, before it has done all for a request, and tells an owner to whom
 * they leave too few members.
 */
export function tellKeptWaiting(
  candidacy: QuorumAcquire | undefined,
  word: { readonly index: number; readonly owner: OwnerId; readonly holderLeaseLeft: number | undefined },
  client: LockStoreClient,
): void {
  if (candidacy === undefined) return;
  const { seats, needed } = candidacy;
  seats[word.index]?.heldByOthers(word.owner, word.holderLeaseLeft);
  const keeping = seats.filter(({ keepsWaiting, isQueued }) => keepsWaiting || isQueued);
  if (keeping.length <= seats.length - needed) return;
  client.heldByOthers(candidacy.owner, timeUntilFree(seats, needed, client.now()));
}

/** Whether an owner, which is known by that name at a member, is to have a place there still. */
export function wantsStill(
  candidacy: QuorumAcquire | undefined,
  index: number,
  name: OwnerId,
  client: LockStoreClient,
): boolean {
  if (candidacy === undefined || candidacy.state === 'ended') return false;
  return candidacy.seats[index]?.owner === name && client.resumes(candidacy.owner);
}

/**
 * ms after which so many of the members are free, as far as they told. More than a majority may have to be, but no more
 * than that may have answered: then it takes at least so long.
 */
export function timeUntilFree(
  seats: readonly MemberState[],
  needed: number,
  now: number,
): number | undefined {
  const left = seats
    .flatMap(({ endsAt, holderLeaseLeft }) => (endsAt > now ? 0 : (holderLeaseLeft ?? [])))
    .sort((one, other) => one - other);
  return left[Math.min(needed, Math.max(left.length, majorityOf(seats.length))) - 1];
}
