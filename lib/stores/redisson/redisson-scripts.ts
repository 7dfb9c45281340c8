import { readLabel, writtenLabel } from '../port/limits.js';
import type {
  AcquireRequest,
  BreakReply,
  Grant,
  NamedHold,
  OwnerRequest,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  StoredHold,
  StoredLock,
  WallClockMs,
} from '../port/lock-store.js';
import { TOMBSTONE_TTL } from '../port/times.js';
import type { PubSubMode } from '../redis/scripts/key-names.js';
import { luaScripts } from '../redis/scripts/lua-source.generated.js';
import { each, leaseLeftOf, Script, type ScriptCall } from '../redis/scripts/scripts.js';
import type { RedissonNames } from './redisson-names.js';

/** While others wait, this many holds of a process may follow each other, for this many ms. */
export const SHORT_TURN = { holds: 8, ms: 10 };

/** An owner of Redisson or of this library; a writer of `RReadWriteLock` has a suffix. */
const OWNER = /^[^:]+:\d+(:write)?$/;

/** All scripts, by the names of their files in `lua/`, whose headers describe them. */
export const redissonScripts = {
  redissonTake: new Script(luaScripts.redissonTake, each(toTakeReply)),
  redissonRelease: new Script(
    luaScripts.redissonRelease,
    each((reply): ReleaseReply => (reply === 1 ? 'released' : 'not-held')),
  ),
  redissonRenew: new Script(luaScripts.redissonRenew, each(toReserveReply)),
  redissonInspect: new Script(luaScripts.redissonInspect, toInspectReply),
  redissonBreak: new Script(luaScripts.redissonBreak, toBreakReply),
};

/** A grant, or why there is none: for how long the lock is held, ms, if that is known, or what is at its name. */
export type TakeReply =
  | ({ readonly outcome: 'granted' } & Grant)
  | { readonly outcome: 'held'; readonly leaseLeft: number | undefined }
  | { readonly outcome: 'cancelled' }
  | OtherValue;

/** A held lock, and how many clients listen for its release. */
export interface InspectReply extends Omit<StoredLock, 'waiters'> {
  readonly listeners: number;
}

/** Another object of Redis is at the name of the lock. */
export interface OtherValue {
  readonly outcome: 'other';
  readonly type: string;
}

/** Translates requests of the port into script calls. All locks of one call are in one slot. */
export class RedissonCalls {
  /**
   * @param namesOf the names of a lock
   * @param mode how this client subscribes at the server
   * @param isListening whether it listens on a channel
   * @param lastLocalToken see `LockStoreClient`
   */
  constructor(
    private readonly namesOf: (key: string) => RedissonNames,
    private readonly mode: () => PubSubMode,
    private readonly isListening: (channel: string) => boolean,
    private readonly lastLocalToken: () => number | undefined,
  ) {}

  take(requests: readonly AcquireRequest[]): ScriptCall<TakeReply[]> {
    const locks = this.locksOf(requests);
    const params = requests.map(({ owner, lease, tokens, label }, index) => {
      return { owner, lease, tokens, label: writtenLabel(label), listening: this.listening(locks[index]) };
    });
    const shared = { mode: this.mode(), shortest: SHORT_TURN.holds, floor: this.lastLocalToken() ?? '' };
    return redissonScripts.redissonTake.with(locks, params, shared);
  }

  release(requests: readonly OwnerRequest[]): ScriptCall<ReleaseReply[]> {
    const params = requests.map(({ owner, inDoubt }) => ({ owner, tombstone: inDoubt ? TOMBSTONE_TTL : 0 }));
    return redissonScripts.redissonRelease.with(this.locksOf(requests), params, { mode: this.mode() });
  }

  renew(requests: readonly RenewRequest[]): ScriptCall<RenewReply[]> {
    const call = this.reserve(requests.map((request) => ({ ...request, tokens: 0 })));
    return {
      ...call,
      decode: (reply) =>
        call.decode(reply).map(({ outcome }) => (outcome === 'reserved' ? 'renewed' : outcome)),
    };
  }

  inspect(key: string): ScriptCall<InspectReply | null> {
    return redissonScripts.redissonInspect.with([this.namesOf(key)], [{ mode: this.mode() }], {});
  }

  /** @param channels the start of the clients' channel names */
  breakHold(key: string, hold: NamedHold | undefined, channels: string): ScriptCall<BreakReply | OtherValue> {
    const { owner = '', token = '' } = hold ?? {};
    const params = { mode: this.mode(), channels, owner, token };
    return redissonScripts.redissonBreak.with([this.namesOf(key)], [params], {});
  }

  reserve(requests: readonly ReserveRequest[]): ScriptCall<ReserveReply[]> {
    const locks = this.locksOf(requests);
    const params = requests.map(({ owner, lease, tokens, exactly = false }, index) => {
      return { owner, lease: exactly ? -lease : lease, tokens, listening: this.listening(locks[index]) };
    });
    const shared = { mode: this.mode(), floor: this.lastLocalToken() ?? '' };
    return redissonScripts.redissonRenew.with(locks, params, shared);
  }

  private locksOf(requests: readonly { readonly key: string }[]): RedissonNames[] {
    return requests.map(({ key }) => this.namesOf(key));
  }

  private listening(lock: RedissonNames | undefined): number {
    return lock !== undefined && this.isListening(lock.channel) ? 1 : 0;
  }
}

function toTakeReply(reply: unknown): TakeReply {
  if (typeof reply === 'string') return otherValue(reply);
  if (reply === -4) return { outcome: 'cancelled' };
  if (typeof reply === 'number') return { outcome: 'held', leaseLeft: leaseLeftOf(reply) };
  const [token = 0, since = 0, tokens = 1, others] = (reply as (string | number)[]).map(Number);
  const grant = { outcome: 'granted', token, since: since as WallClockMs, tokens } as const;
  return others === 1 ? { ...grant, othersWait: true, turn: SHORT_TURN.ms } : grant;
}

/** @param reply `type <type>` */
function otherValue(reply: string): OtherValue {
  return { outcome: 'other', type: reply.replace('type ', '') };
}

function toReserveReply(reply: unknown): ReserveReply {
  if (reply === 0) return { outcome: 'gone' };
  if (reply === -1) return { outcome: 'taken' };
  const [token, others] = Array.isArray(reply) ? reply.map(Number) : [0, 0];
  return { outcome: 'reserved', token: token ?? 0, othersWait: others === 1 };
}

function toBreakReply(reply: unknown): BreakReply | OtherValue {
  if (typeof reply === 'string') return otherValue(reply);
  return reply === 1 ? 'broken' : reply === 0 ? 'free' : 'held-by-others';
}

/** Holds of Redisson have neither token nor time; a hash without an owner is no lock. */
function toInspectReply(reply: unknown): InspectReply | null {
  const [ttl, listeners, ...pairs] = reply as [number?, number?, ...string[]];
  if (ttl === undefined || listeners === undefined) return null;
  const fields = new Map<string, string>();
  for (let i = 0; i < pairs.length; i += 2) fields.set(pairs[i] ?? '', pairs[i + 1] ?? '');
  const numberIn = (name: string): number | undefined => {
    const text = fields.get(name);
    return text === undefined ? undefined : Number(text);
  };
  const owners = [...fields].filter(([name, count]) => OWNER.test(name) && /^\d+$/.test(count));
  if (owners.length === 0) return null;
  const holders = owners.map(([owner]): StoredHold => ({
    owner,
    token: numberIn('token'),
    since: numberIn('since') as WallClockMs | undefined,
    leaseLeft: leaseLeftOf(ttl),
    permits: 1,
    label: readLabel(fields.get('label')),
  }));
  return { limit: fields.get('mode') === 'read' ? Infinity : 1, holders, listeners };
}
