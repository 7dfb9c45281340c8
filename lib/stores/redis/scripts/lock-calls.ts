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
import { writtenLabel, writtenLimit } from '../../port/limits.js';
import type { TimedAskReply } from '../../port/pushed-grants.js';
import { TOMBSTONE_TTL, WAITER_TTL } from '../../port/times.js';
import type { PubSubMode } from '../pubsub/grant-channel.js';
import type { KeyNames } from './key-names.js';
import { toTakeReplies, type TakeReply } from './replies.js';
import type { ScriptCall } from './script.js';
import { scripts } from './scripts.js';

type ShareWords = Record<'lock' | 'queue' | 'owner' | 'label', string> & Record<'lease' | 'limit', number>;
type KeyOf = Pick<OwnerRequest, 'key' | 'owner'>;

/** Says requests of the port as calls of scripts. Those of one call are of locks in one slot. */
export class LockCalls {
  /** What all locks share, where they do. */
  private sharedByAll: Record<'tombstones' | 'fence', string> | undefined;

  /** @param client whose requests these are */
  constructor(
    private readonly names: KeyNames,
    private readonly client: string,
  ) {}

  take(requests: readonly AskRequest[]): ScriptCall<TakeReply[]> {
    const each = requests.map(({ key, owner, lease }) => {
      const { lock, queue } = this.names.of(key);
      return { lock, queue, owner, lease };
    });
    const tokens = mostTokens(requests);
    const call = scripts.take.with(each, { ...this.sharedFor(requests[0]), tokens });
    return {
      ...call,
      decode: (reply) =>
        typeof reply === 'string' ? toTakeReplies(reply, each.length, tokens) : call.decode(reply),
    };
  }

  takeAll(requests: readonly AskRequest[]): ScriptCall<readonly (Grant | number)[]> {
    const each = requests.map((request) => this.shareOf(request));
    return scripts.takeAll.with(each, this.sharedFor(requests[0]));
  }

  share(requests: readonly AskRequest[]): ScriptCall<TakeReply[]> {
    const each = requests.map((request) => this.shareOf(request));
    return scripts.takeShares.with(each, { ...this.sharedFor(requests[0]), tokens: mostTokens(requests) });
  }

  /** Asks with a place in the queue. */
  acquire(request: AskRequest, mode: PubSubMode, channel: string): ScriptCall<TimedAskReply> {
    const { owner, lease, wait, claimLease: claim, callers, tokens, limit, label } = request;
    return scripts.acquire.with(this.keysOf(request), {
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

  /** Takes an owner back, and if in doubt so that its late requests are refused. */
  cancel(request: OwnerRequest): ScriptCall<ReleaseReply> {
    const { owner, inDoubt } = request;
    return scripts.cancel.with(this.keysOf(request), { owner, tombstone: inDoubt ? TOMBSTONE_TTL : 0 });
  }

  release(requests: readonly OwnerRequest[]): ScriptCall<(ReleaseReply | LockStoreError)[]> {
    const each = requests.map(({ key, owner }) => {
      const { lock, queue, waiters } = this.names.of(key);
      return { lock, queue, waiters, owner };
    });
    return scripts.release.with(each, { fence: this.fenceOf(requests[0]?.key) });
  }

  renew(requests: readonly RenewRequest[]): ScriptCall<RenewReply[]> {
    const each = requests.map(({ key, owner, lease, exactly = false }) => {
      return { lock: this.names.of(key).lock, owner, lease: exactly ? -lease : lease };
    });
    return scripts.renew.with(each, {});
  }

  touch({ key, owner }: KeyOf): ScriptCall<boolean> {
    return scripts.touch.with({ lock: this.names.of(key).lock }, { owner });
  }

  reserve(requests: readonly ReserveRequest[]): ScriptCall<ReserveReply[]> {
    const each = requests.map(({ key, owner, lease, tokens }) => {
      const { lock, queue } = this.names.of(key);
      return { lock, queue, owner, lease, tokens };
    });
    return scripts.reserve.with(each, { fence: this.fenceOf(requests[0]?.key) });
  }

  raise({ key, owner, token, since, floor }: RaiseRequest): ScriptCall<unknown> {
    const { lock } = this.names.of(key);
    return scripts.raiseTokens.with({ lock, fence: this.fenceOf(key) }, { owner, token, since, floor });
  }

  inspect(key: string): ScriptCall<StoredLock | null> {
    const { lock, queue, waiters } = this.names.of(key);
    return scripts.inspect.with({ lock, queue, waiters }, {});
  }

  /** @param slot by which the channels of clients are named at that server */
  forceRelease(key: string, mode: PubSubMode, slot: number): ScriptCall<boolean> {
    const channels = this.names.channels(slot);
    return scripts.forceRelease.with(this.brokenKeys(key), { mode, channels });
  }

  /** @param slot by which the channels of clients are named at that server */
  breakHold(
    key: string,
    { owner = '', token }: NamedHold,
    mode: PubSubMode,
    slot: number,
  ): ScriptCall<BreakReply> {
    const words = { mode, channels: this.names.channels(slot), owner, token: token ?? '' };
    return scripts.breakHold.with(this.brokenKeys(key), words);
  }

  private brokenKeys(key: string): Record<'lock' | 'queue' | 'waiters' | 'fence', string> {
    const { lock, queue, waiters } = this.names.of(key);
    return { lock, queue, waiters, fence: this.fenceOf(key) };
  }

  private shareOf({ key, owner, lease, limit, label }: AskRequest): ShareWords {
    const { lock, queue } = this.names.of(key);
    return { lock, queue, owner, lease, limit: writtenLimit(limit), label: writtenLabel(label) };
  }

  private keysOf({ key }: KeyOf): Record<'lock' | 'queue' | 'waiters' | 'tombstones' | 'fence', string> {
    const { lock, queue, waiters } = this.names.of(key);
    return { lock, queue, waiters, ...this.sharedFor({ key }) };
  }

  /** What the locks of a slot share. */
  private sharedFor(first: Pick<OwnerRequest, 'key'> | undefined): Record<'tombstones' | 'fence', string> {
    if (this.sharedByAll !== undefined) return this.sharedByAll;
    const slot = this.names.slotOf(first?.key ?? '');
    const shared = { tombstones: this.names.tombstones(slot, this.client), fence: this.names.fence(slot) };
    if (this.names.isOne) this.sharedByAll = shared;
    return shared;
  }

  private fenceOf(key = ''): string {
    return this.names.fence(this.names.slotOf(key));
  }
}

/** As many as each of these gets. */
function mostTokens(requests: readonly AskRequest[]): number {
  let most = 1;
  for (const { tokens } of requests) if (tokens > most) most = tokens;
  return most;
}
