import type {
  AskReply,
  BreakReply,
  Grant,
  LockStoreError,
  ReleaseReply,
  RenewReply,
  ReserveReply,
  StoredHold,
  StoredLock,
  StoredWaiter,
  WallClockMs,
} from '../../port/lock-store.js';
import { readLabel, readLimit } from '../../port/limits.js';
import type { TimedAskReply } from '../../port/pushed-grants.js';
import { refusal } from '../connection/redis-failure.js';

/** Answered for a lock that is free, or has room, but that others asked for before. */
export const BEHIND_OTHERS = -3;

/** The first token and the time of a grant, or for how long the lock is held: -2 or -3 when something else is in the way. */
export type TakeReply =
  | { readonly token: number; readonly since: WallClockMs }
  | { readonly token: undefined; readonly ttl: number };

/** A command that was refused, and why. */
export interface RefusedCommand {
  readonly command: string;
  readonly error: string;
}

type Words = readonly (string | number)[];

export function toTakeReply(reply: unknown): TakeReply {
  return typeof reply === 'number' ? { token: undefined, ttl: reply } : toGrant(reply);
}

/** Of locks that were granted with so many tokens each, which tell the time, given the first of them. */
export function toTakeReplies(reply: string, locks: number, tokens: number): TakeReply[] {
  const first = Number(reply);
  const since = Math.floor(first / 1000) as WallClockMs;
  const replies: TakeReply[] = [];
  for (let i = 0; i < locks; i += 1) replies.push({ token: first + i * tokens, since });
  return replies;
}

export function toTakeAllReply(reply: unknown): Grant | number {
  return typeof reply === 'number' ? reply : toGrant(reply);
}

function toGrant(reply: unknown): Grant {
  const [token, since] = reply as [string, string];
  return { token: Number(token), since: Number(since) as WallClockMs };
}

export function toAcquireReply(reply: unknown): TimedAskReply {
  const [outcome, ...words] = reply as [AskReply['outcome'], ...string[]];
  const [first, second, tokens, others] = words.map(Number) as [number, number, number, number];
  const untimed = (decoded: AskReply): TimedAskReply => ({ reply: decoded, serverTime: undefined });
  switch (outcome) {
    case 'granted': {
      const since = second as WallClockMs;
      return untimed({ outcome, token: first, since, tokens, othersWait: others === 1 });
    }
    case 'cancelled':
      return untimed({ outcome });
    case 'conflict':
      return untimed({ outcome, limit: readLimit(first) });
    default: {
      const serverTime = outcome === 'queued' ? second : undefined;
      return { reply: { outcome, holderLeaseLeft: leftOf(first) }, serverTime };
    }
  }
}

/** ms left, by a ttl of Redis, which is negative for a key without an end. */
export function leftOf(ttl: number): number | undefined {
  return ttl < 0 ? undefined : ttl;
}

export function toReleaseReply(reply: unknown): ReleaseReply | LockStoreError {
  return typeof reply === 'string' ? refusal(reply) : toCancelReply(reply);
}

export function toCancelReply(reply: unknown): ReleaseReply {
  return reply === 1 ? 'released' : 'not-held';
}

export function toRenewReply(reply: unknown): RenewReply {
  return reply === 1 ? 'renewed' : reply === 0 ? 'gone' : 'taken';
}

export function toReserveReply(reply: unknown): ReserveReply {
  if (typeof reply === 'number') return { outcome: reply === 0 ? 'gone' : 'taken' };
  const [token, others] = reply as [string, number];
  return { outcome: 'reserved', token: Number(token), othersWait: others === 1 };
}

export function toBreakReply(reply: unknown): BreakReply {
  return reply === 1 ? 'broken' : reply === 0 ? 'free' : 'held-by-others';
}

export function toStoredLock(reply: unknown): StoredLock | null {
  const [limit, holders, waiters] = reply as [number?, Words?, Words?];
  if (limit === undefined || holders === undefined || waiters === undefined) return null;
  return {
    limit: readLimit(limit),
    holders: rowsOf(holders, 5).map(toHold).sort(byAge),
    waiters: rowsOf(waiters, 4).map(toWaiter),
  };
}

function toHold([owner, token, since, left, label]: Words): StoredHold {
  return {
    owner: String(owner),
    token: token === '' ? undefined : Number(token),
    since: since === '' ? undefined : (Number(since) as WallClockMs),
    leaseLeft: Number(left) < 0 ? undefined : Number(left),
    label: readLabel(label),
  };
}

function toWaiter([owner, callers, limit, label]: Words): StoredWaiter {
  return {
    owner: String(owner),
    callers: Number(callers),
    limit: readLimit(Number(limit)),
    label: readLabel(label),
  };
}

function byAge(one: StoredHold, other: StoredHold): number {
  return (one.token ?? 0) - (other.token ?? 0);
}

export function toRefusedCommands(reply: unknown): readonly RefusedCommand[] {
  return rowsOf(reply as Words, 2).map(([command, error]) => ({
    command: String(command),
    error: String(error),
  }));
}

export function isOne(reply: unknown): boolean {
  return reply === 1;
}

function rowsOf(words: Words, columns: number): Words[] {
  const rows: Words[] = [];
  for (let i = 0; i < words.length; i += columns) rows.push(words.slice(i, i + columns));
  return rows;
}
