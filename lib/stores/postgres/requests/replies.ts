import type {
  AskReply,
  BreakReply,
  Grant,
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
import type { Row } from '../connection/postgres-connection.js';

interface AskWords {
  readonly outcome: AskReply['outcome'];
  readonly token: number;
  readonly since: number;
  readonly tokens: number;
  readonly othersWait: boolean;
  readonly limit: number;
  readonly left: number | null;
  readonly time: number;
}

/** What the functions of the schema answer is what these read: both are of one version. */
export function toAskReply(reply: unknown): TimedAskReply {
  const words = reply as AskWords;
  const { outcome, token, tokens, othersWait } = words;
  switch (outcome) {
    case 'granted': {
      const since = words.since as WallClockMs;
      return { reply: { outcome, token, since, tokens, othersWait }, serverTime: undefined };
    }
    case 'cancelled':
      return { reply: { outcome }, serverTime: undefined };
    case 'conflict':
      return { reply: { outcome, limit: readLimit(words.limit) }, serverTime: undefined };
    default:
      return { reply: { outcome, holderLeaseLeft: words.left ?? undefined }, serverTime: words.time };
  }
}

export function toTakeAllReply(reply: unknown): readonly Grant[] | number {
  return reply as readonly Grant[] | number;
}

export function toReleaseReply(reply: unknown): ReleaseReply {
  return reply as ReleaseReply;
}

export function toBreakReply(reply: unknown): BreakReply {
  return reply as BreakReply;
}

export function toRenewReplies(rows: readonly Row[]): readonly RenewReply[] {
  return (rows[0]?.['replies'] ?? []) as readonly RenewReply[];
}

export function toReserveReply(reply: unknown): ReserveReply {
  return reply as ReserveReply;
}

interface StoredWords {
  readonly limit: number;
  readonly holders: readonly (Omit<StoredHold, 'leaseLeft' | 'label'> & { left: number; label: string })[];
  readonly waiters: readonly (Omit<StoredWaiter, 'label'> & { label: string })[];
}

export function toStoredLock(reply: unknown): StoredLock | null {
  if (reply === null) return null;
  const { limit, holders, waiters } = reply as StoredWords;
  return {
    limit: readLimit(limit),
    holders: holders.map(({ owner, token, since, left, label }) => {
      return { owner, token, since, leaseLeft: left, label: readLabel(label) };
    }),
    waiters: waiters.map(({ owner, callers, limit: wanted, label }) => {
      return { owner, callers, limit: readLimit(wanted), label: readLabel(label) };
    }),
  };
}
