import type {
  AskRequest,
  Grant,
  LockStoreError,
  OwnerRequest,
  RaiseRequest,
  ReleaseReply,
  RenewReply,
  RenewRequest,
} from '../../port/lock-store.js';
import type { ReserveReply, ReserveRequest, StoredLock } from '../../port/lock-store.js';
import type { Way } from '../pubsub/grant-channel.js';
import type { KeyNames } from './key-names.js';
import { acquireScript, type AcquireReply } from './acquire.script.js';
import { cancelScript } from './cancel.script.js';
import { forceReleaseScript } from './force-release.script.js';
import { inspectScript } from './inspect.script.js';
import { raiseScript } from './raise.script.js';
import { releaseScript } from './release.script.js';
import { renewScript } from './renew.script.js';
import { reserveScript } from './reserve.script.js';
import type { ScriptCall } from './script.js';
import { shareScript } from './share.script.js';
import { takeAllScript } from './take-all.script.js';
import { takeScript, type TakeReply } from './take.script.js';
import { touchScript } from './touch.script.js';

/** How long a waiter keeps its place without asking again, ms: three polls (P15). */
const PATIENCE = 3_000;
/** How long a tombstone keeps late requests out, ms (P32). */
const TOMBSTONE = 60_000;

type ShareWords = Record<'lock' | 'queue' | 'gone' | 'owner' | 'label', string> &
  Record<'lease' | 'limit', number>;
type KeyOf = Pick<OwnerRequest, 'key' | 'owner'>;

/** Says requests of the port as calls of scripts. Those of one call are of locks in one slot. */
export class LockCalls {
  constructor(private readonly names: KeyNames) {}

  take(requests: readonly AskRequest[]): ScriptCall<TakeReply[]> {
    const each = requests.map(({ key, owner, lease, tokens }) => {
      const names = this.names.of(key);
      return { lock: names.lock, queue: names.queue, gone: names.gone(owner), owner, lease, tokens };
    });
    return takeScript.with(each, { fence: this.fenceOf(requests[0]?.key) });
  }

  takeAll(requests: readonly AskRequest[]): ScriptCall<readonly (Grant | number)[]> {
    const each = requests.map((request) => this.shareOf(request));
    return takeAllScript.with(each, { fence: this.fenceOf(requests[0]?.key) });
  }

  share(requests: readonly AskRequest[]): ScriptCall<TakeReply[]> {
    const each = requests.map((request) => this.shareOf(request));
    return shareScript.with(each, { fence: this.fenceOf(requests[0]?.key) });
  }

  /** Asks with a place in the queue. */
  acquire(request: AskRequest, way: Way, channel: string): ScriptCall<AcquireReply> {
    const { owner, lease, wait, claimLease: claim, callers, tokens, limit, label } = request;
    return acquireScript.with(this.withFence(request), {
      owner,
      lease,
      wait: wait ? 1 : 0,
      claim,
      patience: PATIENCE,
      callers,
      tokens,
      way,
      channel,
      limit: limitWord(limit),
      label: labelWord(label),
    });
  }

  cancel(request: OwnerRequest): ScriptCall<unknown> {
    const { owner, inDoubt } = request;
    return cancelScript.with(this.withFence(request), { owner, tombstone: inDoubt ? TOMBSTONE : 0 });
  }

  release(requests: readonly OwnerRequest[]): ScriptCall<(ReleaseReply | LockStoreError)[]> {
    const each = requests.map(({ key, owner, inDoubt }) => {
      const names = this.names.of(key);
      const { lock, queue, waiters } = names;
      return { lock, queue, waiters, gone: names.gone(owner), owner, tombstone: inDoubt ? TOMBSTONE : 0 };
    });
    return releaseScript.with(each, { fence: this.fenceOf(requests[0]?.key) });
  }

  renew(requests: readonly RenewRequest[]): ScriptCall<RenewReply[]> {
    const each = requests.map(({ key, owner, lease, exactly = false }) => {
      return { lock: this.names.of(key).lock, owner, lease: exactly ? -lease : lease };
    });
    return renewScript.with(each, {});
  }

  touch({ key, owner }: KeyOf): ScriptCall<boolean> {
    return touchScript.with({ lock: this.names.of(key).lock }, { owner });
  }

  reserve(requests: readonly ReserveRequest[]): ScriptCall<ReserveReply[]> {
    const each = requests.map(({ key, owner, lease, tokens }) => {
      const { lock, queue } = this.names.of(key);
      return { lock, queue, owner, lease, tokens };
    });
    return reserveScript.with(each, { fence: this.fenceOf(requests[0]?.key) });
  }

  raise({ key, owner, token, since, floor }: RaiseRequest): ScriptCall<unknown> {
    const { lock } = this.names.of(key);
    return raiseScript.with({ lock, fence: this.fenceOf(key) }, { owner, token, since, floor });
  }

  inspect(key: string): ScriptCall<StoredLock | null> {
    const { lock, queue, waiters } = this.names.of(key);
    return inspectScript.with({ lock, queue, waiters }, {});
  }

  /** @param channels what the channels of clients start with at that server */
  forceRelease(key: string, way: Way, channels: string): ScriptCall<boolean> {
    const { lock, queue, waiters } = this.names.of(key);
    const fence = this.fenceOf(key);
    return forceReleaseScript.with({ lock, queue, waiters, fence }, { way, channels });
  }

  private shareOf({ key, owner, lease, limit, label }: AskRequest): ShareWords {
    const names = this.names.of(key);
    const { lock, queue } = names;
    const gone = names.gone(owner);
    return { lock, queue, gone, owner, lease, limit: limitWord(limit), label: labelWord(label) };
  }

  private keysOf({ key, owner }: KeyOf): Record<'lock' | 'queue' | 'waiters' | 'gone', string> {
    const names = this.names.of(key);
    return { lock: names.lock, queue: names.queue, waiters: names.waiters, gone: names.gone(owner) };
  }

  private withFence(request: KeyOf): Record<'lock' | 'queue' | 'waiters' | 'gone' | 'fence', string> {
    return { ...this.keysOf(request), fence: this.fenceOf(request.key) };
  }

  private fenceOf(key = ''): string {
    return this.names.fence(this.names.slotOf(key));
  }
}

/** How scripts say a limit. */
function limitWord(limit: number): number {
  return limit === Infinity ? 0 : limit;
}

/** How scripts say a label: without blanks, which end words there. */
function labelWord(label: string | undefined): string {
  return label === undefined ? '' : encodeURIComponent(label);
}
