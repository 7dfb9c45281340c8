import { writtenLabel, writtenLimit } from '../../port/limits.js';
import type {
  AskRequest,
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
  StoredLock,
} from '../../port/lock-store.js';
import type { TimedAskReply } from '../../port/pushed-grants.js';
import { TOMBSTONE_TTL, WAITER_TTL } from '../../port/times.js';
import type { PubSubMode } from '../grant-channel.js';
import type { KeyNames } from './key-names.js';
import { scripts, toTakeReplies, type ScriptCall, type TakeReply } from './scripts.js';

type ShareRequest = Record<'key' | 'owner' | 'label', string> & Record<'lease' | 'limit', number>;
type Names<Kind extends string> = Record<Kind, string>;

/** Translates requests of the port into script calls. All locks of one call are in one slot. */
export class LockCalls {
  /** Set where all locks share them. */
  private sharedByAll: Names<'tombstones' | 'fence'> | undefined;

  constructor(
    private readonly names: KeyNames,
    private readonly client: string,
  ) {}

  take(requests: readonly AskRequest[]): ScriptCall<TakeReply[]> {
    const tokens = mostTokens(requests);
    const { text, keyCount, args, decode } = scripts.take.with(this.names, requests, {
      ...this.sharedFor(requests[0]?.key),
      tokens,
    });
    return {
      text,
      keyCount,
      args,
      decode: (reply) =>
        typeof reply === 'string' ? toTakeReplies(reply, requests.length, tokens) : decode(reply),
    };
  }

  takeAll(requests: readonly AskRequest[]): ScriptCall<readonly (Grant | number)[]> {
    return scripts.takeAll.with(this.names, requests.map(shareRequest), this.sharedFor(requests[0]?.key));
  }

  takeShares(requests: readonly AskRequest[]): ScriptCall<TakeReply[]> {
    const shared = { ...this.sharedFor(requests[0]?.key), tokens: mostTokens(requests) };
    return scripts.takeShares.with(this.names, requests.map(shareRequest), shared);
  }

  /** Asks with a position in the queue, where `wait` says so. */
  acquire(request: AskRequest, mode: PubSubMode, channel: string): ScriptCall<TimedAskReply> {
    const { key, owner, lease, wait, claimLease: claim, callers, tokens, limit, label } = request;
    const keys = { ...this.queueNames(key), ...this.sharedFor(key) };
    return scripts.acquire.with(keys, {
      owner,
      lease,
      wait: wait ? 1 : 0,
      claim,
      waiterTtl: WAITER_TTL,
      callers,
      tokens,
      mode,
      channel,
      limit: writtenLimit(limit),
      label: writtenLabel(label),
    });
  }

  cancel({ key, owner, inDoubt }: OwnerRequest): ScriptCall<ReleaseReply> {
    const keys = { ...this.queueNames(key), ...this.sharedFor(key) };
    return scripts.cancel.with(keys, { owner, tombstone: inDoubt ? TOMBSTONE_TTL : 0 });
  }

  release(requests: readonly OwnerRequest[]): ScriptCall<(ReleaseReply | LockStoreError)[]> {
    return scripts.release.with(this.names, requests, { fence: this.fenceOf(requests[0]?.key) });
  }

  renew(requests: readonly RenewRequest[]): ScriptCall<RenewReply[]> {
    const signed = requests.map(({ key, owner, lease, exactly = false }) => {
      return { key, owner, lease: exactly ? -lease : lease };
    });
    return scripts.renew.with(this.names, signed, {});
  }

  touch(key: string, owner: string): ScriptCall<boolean> {
    return scripts.touch.with({ lock: this.names.of(key).lock }, { owner });
  }

  reserve(requests: readonly ReserveRequest[]): ScriptCall<ReserveReply[]> {
    return scripts.reserve.with(this.names, requests, { fence: this.fenceOf(requests[0]?.key) });
  }

  raise({ key, owner, token, since, floor }: RaiseRequest): ScriptCall<unknown> {
    const { lock } = this.names.of(key);
    return scripts.raiseTokens.with({ lock, fence: this.fenceOf(key) }, { owner, token, since, floor });
  }

  inspect(key: string): ScriptCall<StoredLock | null> {
    return scripts.inspect.with(this.queueNames(key), {});
  }

  /** @param slot in the channel names of the server */
  forceRelease(key: string, mode: PubSubMode, slot: number): ScriptCall<boolean> {
    const keys = { ...this.queueNames(key), fence: this.fenceOf(key) };
    return scripts.forceRelease.with(keys, { mode, channels: this.names.channels(slot) });
  }

  /** @param slot in the channel names of the server */
  breakHold(key: string, hold: NamedHold, mode: PubSubMode, slot: number): ScriptCall<BreakReply> {
    const keys = { ...this.queueNames(key), fence: this.fenceOf(key) };
    const { owner = '', token = '' } = hold;
    return scripts.breakHold.with(keys, { mode, channels: this.names.channels(slot), owner, token });
  }

  private queueNames(key: string): Names<'lock' | 'queue' | 'waiters'> {
    const { lock, queue, waiters } = this.names.of(key);
    return { lock, queue, waiters };
  }

  /** What the locks of a slot share. */
  private sharedFor(key = ''): Names<'tombstones' | 'fence'> {
    if (this.sharedByAll !== undefined) return this.sharedByAll;
    const slot = this.names.slotOf(key);
    const shared = { tombstones: this.names.tombstones(slot, this.client), fence: this.names.fence(slot) };
    if (this.names.isOne) this.sharedByAll = shared;
    return shared;
  }

  private fenceOf(key = ''): string {
    return this.names.fence(this.names.slotOf(key));
  }
}

function shareRequest({ key, owner, lease, limit, label }: AskRequest): ShareRequest {
  return { key, owner, lease, limit: writtenLimit(limit), label: writtenLabel(label) };
}

/** Every lock of a call gets as many tokens. */
function mostTokens(requests: readonly AskRequest[]): number {
  let most = 1;
  for (const { tokens } of requests) if (tokens > most) most = tokens;
  return most;
}
