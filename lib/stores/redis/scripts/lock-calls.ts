import { writtenLabel, writtenLimit } from '../../port/limits.js';
import type {
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
  StoredLock,
} from '../../port/lock-store.js';
import type { TimedAcquireReply } from '../../port/pushed-grants.js';
import { TOMBSTONE_TTL, WAITER_TTL } from '../../port/times.js';
import type { PubSubMode } from '../grant-channel.js';
import type { KeyNames, LockNames } from './key-names.js';
import { scripts, type ScriptCall, type TakeReply } from './scripts.js';

type Shared = Record<'tombstones' | 'fence', string>;
type ShareParams = Record<'owner' | 'label', string> & Record<'lease' | 'limit', number>;

/** Translates requests of the port into script calls. All locks of one call are in one slot. */
export class LockCalls {
  /** Set where all locks share them. */
  private sharedByAll: Shared | undefined;

  constructor(
    private readonly names: KeyNames,
    private readonly client: string,
  ) {}

  take(requests: readonly AcquireRequest[]): ScriptCall<TakeReply[]> {
    const { tombstones, fence } = this.sharedFor(requests);
    const shared = { tombstones, fence, tokens: mostTokens(requests) };
    return scripts.take.with(this.locksOf(requests), requests, shared);
  }

  acquireAll(requests: readonly AcquireRequest[]): ScriptCall<readonly (Grant | number)[]> {
    return scripts.takeAll.with(this.locksOf(requests), requests.map(shareParams), this.sharedFor(requests));
  }

  takeShares(requests: readonly AcquireRequest[]): ScriptCall<TakeReply[]> {
    const shared = { ...this.sharedFor(requests), tokens: mostTokens(requests) };
    return scripts.takeShares.with(this.locksOf(requests), requests.map(shareParams), shared);
  }

  /** Asks with a position in the queue, where `wait` says so. */
  acquire(request: AcquireRequest, mode: PubSubMode, channel: string): ScriptCall<TimedAcquireReply> {
    const { owner, lease, wait, claimLease: claim, callers, tokens, limit, label } = request;
    const params = {
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

  touch(key: string, owner: string): ScriptCall<boolean> {
    return scripts.touch.with([this.names.of(key)], [{ owner }], {});
  }

  reserve(requests: readonly ReserveRequest[]): ScriptCall<ReserveReply[]> {
    return scripts.reserve.with(this.locksOf(requests), requests, this.sharedFor(requests));
  }

  raise(request: RaiseRequest): ScriptCall<unknown> {
    return scripts.raiseTokens.with(this.locksOf([request]), [request], this.sharedFor([request]));
  }

  inspect(key: string): ScriptCall<StoredLock | null> {
    return scripts.inspect.with([this.names.of(key)], [{}], {});
  }

  /** @param slot in the channel names of the server */
  forceRelease(key: string, mode: PubSubMode, slot: number): ScriptCall<boolean> {
    const params = { mode, channels: this.names.channels(slot) };
    return scripts.forceRelease.with([this.names.of(key)], [params], this.sharedFor([{ key }]));
  }

  /** @param slot in the channel names of the server */
  breakHold(key: string, hold: NamedHold, mode: PubSubMode, slot: number): ScriptCall<BreakReply> {
    const { owner = '', token = '' } = hold;
    const params = { mode, channels: this.names.channels(slot), owner, token };
    return scripts.breakHold.with([this.names.of(key)], [params], this.sharedFor([{ key }]));
  }

  private locksOf(requests: readonly { readonly key: string }[]): LockNames[] {
    return requests.map(({ key }) => this.names.of(key));
  }

  /** What the locks of a slot share, to which all these belong. */
  private sharedFor(requests: readonly { readonly key: string }[]): Shared {
    if (this.sharedByAll !== undefined) return this.sharedByAll;
    const slot = this.names.slotOf(requests[0]?.key ?? '');
    const shared = { tombstones: this.names.tombstones(slot, this.client), fence: this.names.fence(slot) };
    if (this.names.isOne) this.sharedByAll = shared;
    return shared;
  }
}

function shareParams({ owner, lease, limit, label }: AcquireRequest): ShareParams {
  return { owner, lease, limit: writtenLimit(limit), label: writtenLabel(label) };
}

/** Every lock of a call gets as many tokens. */
function mostTokens(requests: readonly AcquireRequest[]): number {
  let most = 1;
  for (const { tokens } of requests) if (tokens > most) most = tokens;
  return most;
}
