import type { AcquireReply, MonotonicMs, OwnerId, PushedGrant, WallClockMs } from '../port/lock-store.js';
import { majorityOf } from './majority.js';

/** The grant of one member. */
export interface Vote {
  readonly startedAt: MonotonicMs;
  readonly lease: number;
  readonly token: number;
  readonly tokens: number;
  readonly since: WallClockMs;
  readonly othersWait: boolean;
}

/** The hold that enough members have granted. */
export interface QuorumHold {
  readonly token: number;
  readonly since: WallClockMs;
  /** The last token that this hold, and those that follow it in the process, may use. */
  readonly floor: number;
}

/** The part of a lease that is not relied on, because clocks run at different speeds. */
const DRIFT = 0.01;

/** Until when a vote can be relied on. */
export function endOf({ startedAt, lease }: Vote): number {
  return startedAt + lease * (1 - DRIFT);
}

/** The hold that results from the votes: the largest token, and as many consecutive ones as every member reserved. */
export function holdBy(votes: readonly Vote[]): QuorumHold {
  const { token, since } = votes.reduce((one, other) => (other.token > one.token ? other : one));
  const tokens = Math.min(...votes.map((vote) => vote.tokens));
  return { token, since, floor: token + tokens - 1 };
}

/** The reply to a request. Its tokens are reported only the first time: later they may be in use. */
export function replyOf(hold: QuorumHold, votes: readonly Vote[], isFirst: boolean): AcquireReply {
  const { token, since, floor } = hold;
  const othersWait = votes.some((vote) => vote.othersWait);
  return { outcome: 'granted', token, since, tokens: isFirst ? floor - token + 1 : 1, othersWait };
}

/** The pushed form of the grant: it lasts until fewer than `needed` votes are left. */
export function pushOf(hold: QuorumHold, votes: readonly Vote[], needed: number): PushedGrant | undefined {
  const last = [...votes].sort((one, other) => endOf(other) - endOf(one))[needed - 1];
  if (last === undefined) return undefined;
  const { token, since, floor } = hold;
  const { startedAt, lease } = last;
  const othersWait = votes.some((vote) => vote.othersWait);
  return { token, since, tokens: floor - token + 1, othersWait, startedAt, lease };
}

export function queued(holderLeaseLeft: number | undefined): AcquireReply {
  return { outcome: 'queued', holderLeaseLeft };
}

/**
 * ms until `needed` members are free, according to their reports. If fewer have reported, but a majority, this is a
 * lower bound.
 */
export function timeUntilFree(
  members: readonly { readonly endsAt: number; readonly holderLeaseLeft: number | undefined }[],
  needed: number,
  now: number,
): number | undefined {
  const left = members
    .flatMap(({ endsAt, holderLeaseLeft }) => (endsAt > now ? 0 : (holderLeaseLeft ?? [])))
    .sort((one, other) => one - other);
  return left[Math.min(needed, Math.max(left.length, majorityOf(members.length))) - 1];
}

/** The name of an owner at a member after this many releases there: names are never reused. */
export function ownerName(owner: OwnerId, releases: number): OwnerId {
  return (releases === 0 ? owner : `${owner}.${String(releases)}`) as OwnerId;
}

/** The owner of a name at a member. */
export function baseOf(name: string): OwnerId {
  return name.replace(/\.\d+$/, '') as OwnerId;
}
