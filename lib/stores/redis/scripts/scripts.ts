import { createHash } from 'node:crypto';
import { readLabel, readLimit, writtenLabel, writtenLimit } from '../../port/limits.js';
import type {
  AcquireReply,
  AcquireRequest,
  BreakReply,
  Grant,
  LockStoreError,
  NamedHold,
  OwnerRequest,
  RaiseRequest,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  StoredHold,
  StoredLock,
  StoredWaiter,
  WallClockMs,
} from '../../port/lock-store.js';
import type { TimedAcquireReply } from '../../port/pushed-grants.js';
import { TOMBSTONE_TTL, WAITER_TTL } from '../../port/times.js';
import { rejection } from '../connection/redis-failure.js';

import type { KeyNames, LockNames, PubSubMode } from './key-names.js';
import { luaScripts } from './lua-source.generated.js';

type Arg = string | number;

/** A Lua script, and the names in its header. */
interface LuaScript<
  Name extends string,
  Param extends string,
  SharedKey extends string,
  SharedParam extends string,
> {
  readonly source: string;
  /** Names of KEYS, in order. A script for many locks repeats them for each lock. */
  readonly keys: readonly Name[];
  /** Names of ARGV, in order, repeated like KEYS. */
  readonly args: readonly Param[];
  /** KEYS that follow once. */
  readonly sharedKeys: readonly SharedKey[];
  /** ARGV that follow once. */
  readonly sharedArgs: readonly SharedParam[];
}

/** One call of a script. */
export interface ScriptCall<Reply> {
  readonly text: { readonly source: string; readonly sha: string };
  readonly keyCount: number;
  /** KEYS and ARGV. */
  readonly args: readonly Arg[];
  readonly decode: (reply: unknown) => Reply;
}

export class Script<
  Name extends string,
  Param extends string,
  SharedKey extends string,
  SharedParam extends string,
  Reply,
> {
  private readonly text: ScriptCall<Reply>['text'];

  constructor(
    readonly lua: LuaScript<Name, Param, SharedKey, SharedParam>,
    private readonly decode: (
      reply: unknown,
      locks: number,
      shared: Readonly<Record<SharedParam, Arg>>,
    ) => Reply,
  ) {
    const { source } = lua;
    this.text = { source, sha: createHash('sha1').update(source).digest('hex') };
  }

  /** @param requests one for each lock */
  with(
    locks: readonly Readonly<Record<Name, string>>[],
    requests: readonly Readonly<Record<Param, Arg>>[],
    shared: Readonly<Record<SharedKey, string> & Record<SharedParam, Arg>>,
  ): ScriptCall<Reply> {
    const { lua, text, decode } = this;
    const args: Arg[] = [];
    for (const lock of locks) for (const key of lua.keys) args.push(lock[key]);
    for (const key of lua.sharedKeys) args.push(shared[key]);
    const keyCount = args.length;
    for (const request of requests) for (const arg of lua.args) args.push(request[arg]);
    for (const arg of lua.sharedArgs) args.push(shared[arg]);
    return { text, keyCount, args, decode: (reply) => decode(reply, locks.length, shared) };
  }
}

/** Decodes the replies of a script for many locks, which may send one reply for all. */
export function each<T>(decode: (reply: unknown) => T): (replies: unknown, locks: number) => T[] {
  return (replies, locks) => {
    if (Array.isArray(replies)) return replies.map((reply: unknown) => decode(reply));
    // Every release has one reply for all. `Array.from` is slow.
    const all = [decode(replies)];
    while (all.length < locks) all.push(decode(replies));
    return all;
  };
}

const takeReplies = each(toTakeReply);

/** All scripts, by the names of their files in `lua/`, whose headers describe them. */
export const scripts = {
  take: new Script(luaScripts.take, (reply, locks, { tokens }) =>
    typeof reply === 'string' ? toTakeReplies(reply, locks, Number(tokens)) : takeReplies(reply, locks),
  ),
  acquire: new Script(luaScripts.acquire, toAcquireReply),
  cancel: new Script(luaScripts.cancel, toCancelReply),
  release: new Script(luaScripts.release, each(toReleaseReply)),
  renew: new Script(luaScripts.renew, each(toRenewReply)),
  reserve: new Script(luaScripts.reserve, each(toReserveReply)),
  raiseTokens: new Script(luaScripts.raiseTokens, () => undefined),
  inspect: new Script(luaScripts.inspect, toStoredLock),
  breakHold: new Script(luaScripts.breakHold, toBreakReply),
  checkPermissions: new Script(luaScripts.checkPermissions, toRejectedCommands),
};

/** Translates requests of the port into script calls. All locks of one call are in one slot. */
export class LockCalls {
  constructor(
    private readonly names: KeyNames,
    private readonly client: string,
  ) {}

  take(requests: readonly AcquireRequest[]): ScriptCall<TakeReply[]> {
    const { tombstones, fence } = this.sharedFor(requests);
    const shared = { tombstones, fence, tokens: mostTokens(requests) };
    return scripts.take.with(this.locksOf(requests), requests, shared);
  }

  /** Requests a lock, with a position in the queue if `wait` is set. */
  acquire(request: AcquireRequest, mode: PubSubMode, channel: string): ScriptCall<TimedAcquireReply> {
    const params = {
      ...request,
      wait: request.wait ? 1 : 0,
      claim: request.claimLease,
      waiterTtl: WAITER_TTL,
      mode,
      channel,
      limit: writtenLimit(request.limit),
      label: labelOf(request),
    };
    return scripts.acquire.with(this.locksOf([request]), [params], this.sharedFor([request]));
  }

  cancel(request: OwnerRequest): ScriptCall<ReleaseReply> {
    const { owner, inDoubt } = request;
    const params = { owner, tombstone: inDoubt ? TOMBSTONE_TTL : 0 };
    return scripts.cancel.with(this.locksOf([request]), [params], this.sharedFor([request]));
  }

  release(requests: readonly OwnerRequest[]): ScriptCall<(ReleaseReply | LockStoreError)[]> {
    return scripts.release.with(this.locksOf(requests), requests, this.sharedFor(requests));
  }

  renew(requests: readonly RenewRequest[]): ScriptCall<RenewReply[]> {
    const params = requests.map(({ owner, lease, exactly = false }) => {
      return { owner, lease: exactly ? -lease : lease };
    });
    return scripts.renew.with(this.locksOf(requests), params, {});
  }

  reserve(requests: readonly ReserveRequest[]): ScriptCall<ReserveReply[]> {
    return scripts.reserve.with(this.locksOf(requests), requests, this.sharedFor(requests));
  }

  raise(request: RaiseRequest): ScriptCall<void> {
    return scripts.raiseTokens.with(this.locksOf([request]), [request], this.sharedFor([request]));
  }

  inspect(key: string): ScriptCall<StoredLock | null> {
    return scripts.inspect.with([this.names.of(key)], [{}], {});
  }

  /** @param slot in the channel names of the server */
  breakHold(
    key: string,
    hold: NamedHold | undefined,
    mode: PubSubMode,
    slot: number,
  ): ScriptCall<BreakReply> {
    const { owner = '', token = '' } = hold ?? {};
    const params = { mode, channels: this.names.channels(slot), owner, token };
    return scripts.breakHold.with([this.names.of(key)], [params], this.sharedFor([{ key }]));
  }

  private locksOf(requests: readonly { readonly key: string }[]): LockNames[] {
    return requests.map(({ key }) => this.names.of(key));
  }

  /** The names that all locks of a slot use; all these requests belong to one slot. */
  private sharedFor(requests: readonly { readonly key: string }[]): Record<'tombstones' | 'fence', string> {
    const slot = this.names.slotOf(requests[0]?.key ?? '');
    return { tombstones: this.names.tombstones(slot, this.client), fence: this.names.fence(slot) };
  }
}

/**
 * The encoded label, followed by the permits if there are several: it contains no `/`. Records of holds with one permit
 * stay as they are, so that other builds can read them.
 */
function labelOf({ label, permits }: AcquireRequest): string {
  const written = writtenLabel(label);
  return permits === 1 ? written : `${written}/${permits}`;
}

function readPermits(written: unknown): Pick<StoredHold, 'label' | 'permits'> {
  const [label, permits = 1] = String(written).split('/');
  return { label: readLabel(label), permits: Number(permits) };
}

/** Every lock of a call gets as many tokens. */
function mostTokens(requests: readonly AcquireRequest[]): number {
  let most = 1;
  for (const { tokens } of requests) if (tokens > most) most = tokens;
  return most;
}

/** The `ttl` of a lock that is free, or has room, but has earlier waiters. */
export const BEHIND_OTHERS = -3;

/** A grant, or for how long the lock is held, ms: -2 or {@link BEHIND_OTHERS} if there is another obstacle. */
export type TakeReply =
  | { readonly token: number; readonly since: WallClockMs }
  | { readonly token: undefined; readonly ttl: number };

/** A command that the server rejected, and its error. */
export interface RejectedCommand {
  readonly command: string;
  readonly error: string;
}

type Row = readonly (string | number)[];

function toTakeReply(reply: unknown): TakeReply {
  return typeof reply === 'number' ? { token: undefined, ttl: reply } : toGrant(reply);
}

/** The replies for locks that were all granted, from the first token of the first. The token also contains the time. */
function toTakeReplies(reply: string, locks: number, tokens: number): TakeReply[] {
  const first = Number(reply);
  const since = Math.floor(first / 1000) as WallClockMs;
  const replies: TakeReply[] = [];
  for (let i = 0; i < locks; i += 1) replies.push({ token: first + i * tokens, since });
  return replies;
}

function toGrant(reply: unknown): Grant {
  const [token, since] = reply as [string, string];
  return { token: Number(token), since: Number(since) as WallClockMs };
}

function toAcquireReply(reply: unknown): TimedAcquireReply {
  const [outcome, ...fields] = reply as [AcquireReply['outcome'], ...string[]];
  const [first, second, tokens, others] = fields.map(Number) as [number, number, number, number];
  const untimed = (decoded: AcquireReply): TimedAcquireReply => ({ reply: decoded, serverTime: undefined });
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
      return { reply: { outcome, holderLeaseLeft: leaseLeftOf(first) }, serverTime };
    }
  }
}

/** The rest of a lease, ms, from a TTL of Redis, which is negative for a key without expiry. */
export function leaseLeftOf(ttl: number): number | undefined {
  return ttl < 0 ? undefined : ttl;
}

function toReleaseReply(reply: unknown): ReleaseReply | LockStoreError {
  return typeof reply === 'string' ? rejection(reply) : toCancelReply(reply);
}

function toCancelReply(reply: unknown): ReleaseReply {
  return reply === 1 ? 'released' : 'not-held';
}

function toRenewReply(reply: unknown): RenewReply {
  return reply === 1 ? 'renewed' : reply === 0 ? 'gone' : 'taken';
}

function toReserveReply(reply: unknown): ReserveReply {
  if (typeof reply === 'number') return { outcome: reply === 0 ? 'gone' : 'taken' };
  const [token, others] = reply as [string, number];
  return { outcome: 'reserved', token: Number(token), othersWait: others === 1 };
}

function toBreakReply(reply: unknown): BreakReply {
  return reply === 1 ? 'broken' : reply === 0 ? 'free' : 'held-by-others';
}

function toStoredLock(reply: unknown): StoredLock | null {
  const [limit, holders, waiters] = reply as [number?, Row?, Row?];
  if (limit === undefined || holders === undefined || waiters === undefined) return null;
  return {
    limit: readLimit(limit),
    holders: rowsOf(holders, 5)
      .map(toHold)
      .sort((one, other) => (one.token ?? 0) - (other.token ?? 0)),
    waiters: rowsOf(waiters, 4).map(toWaiter),
  };
}

function toHold([owner, token, since, left, label]: Row): StoredHold {
  return {
    owner: String(owner),
    token: token === '' ? undefined : Number(token),
    since: since === '' ? undefined : (Number(since) as WallClockMs),
    leaseLeft: leaseLeftOf(Number(left)),
    ...readPermits(label),
  };
}

function toWaiter([owner, callers, limit, label]: Row): StoredWaiter {
  return {
    owner: String(owner),
    callers: Number(callers),
    limit: readLimit(Number(limit)),
    ...readPermits(label),
  };
}

function toRejectedCommands(reply: unknown): readonly RejectedCommand[] {
  return rowsOf(reply as Row, 2).map(([command, error]) => ({
    command: String(command),
    error: String(error),
  }));
}

function rowsOf(fields: Row, columns: number): Row[] {
  const rows: Row[] = [];
  for (let i = 0; i < fields.length; i += columns) rows.push(fields.slice(i, i + columns));
  return rows;
}
