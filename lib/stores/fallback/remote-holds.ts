import { IndexedHeap } from '../../common/indexed-heap.js';
import type {
  LockStoreError,
  MonotonicMs,
  OwnerId,
  PushedGrant,
  RenewReply,
  RenewRequest,
} from '../port/lock-store.js';
import { raiseTokens } from '../memory/memory-locks.js';
import type { LocalLocks } from './local-locks.js';
import type { RemoteHold, LockSpec } from './remote-hold.js';

/** What this process holds in the store, so that it is not given away in the process while the store is away. */
export class RemoteHolds {
  private readonly holds = new Map<string, Map<OwnerId, RemoteHold>>();
  /** Those that nobody will give back: they end by themselves. */
  private readonly ending = new IndexedHeap<RemoteHold>((hold) => hold.until);

  constructor(
    private readonly local: LocalLocks,
    private readonly now: () => MonotonicMs,
  ) {}

  began(
    { key, limit, label }: LockSpec,
    owner: OwnerId,
    until: number,
    { token, tokens = 1 }: Pick<PushedGrant, 'token' | 'tokens'>,
  ): void {
    this.sweep();
    for (const former of this.of(key)) {
      const isBeside = limit > 1 && former.limit === limit;
      if (former.owner !== owner && !isBeside) this.ended(key, former.owner);
    }
    const holds = this.holds.get(key) ?? new Map<OwnerId, RemoteHold>();
    this.holds.set(key, holds);
    holds.set(owner, { key, owner, limit, label, until, heapIndex: -1 });
    raiseTokens(token + tokens - 1);
  }

  /** Answers which of the holds the store no longer has. */
  renewed(
    requests: readonly RenewRequest[],
    replies: readonly (RenewReply | LockStoreError)[],
    sentAt: MonotonicMs,
  ): readonly RenewRequest[] {
    return requests.filter((request, index) => {
      const reply = replies[index];
      if (reply === 'renewed') this.prolonged(request, sentAt + request.lease);
      if (reply !== 'gone' && reply !== 'taken') return false;
      this.ended(request.key, request.owner);
      return true;
    });
  }

  prolonged({ key, owner, exactly = false }: RenewRequest, until: number): void {
    const hold = this.holds.get(key)?.get(owner);
    if (hold !== undefined && (exactly || until > hold.until)) {
      if (hold.heapIndex !== -1) this.ending.remove(hold);
      hold.until = until;
      if (exactly) this.ending.push(hold);
    }
    if (this.local.isKeptFrom(owner)) this.keep(key);
  }

  ended(key: string, owner: OwnerId): void {
    const holds = this.holds.get(key);
    const hold = holds?.get(owner);
    if (hold !== undefined && hold.heapIndex !== -1) this.ending.remove(hold);
    holds?.delete(owner);
    if (holds?.size === 0) this.holds.delete(key);
    this.local.letIn(owner, key);
  }

  /** Keeps everybody who asks in this process from the holds of a key, or lets them share it. */
  keep(key: string): void {
    for (const hold of this.of(key)) this.local.keepFrom(hold);
  }

  /** Those that are not over. */
  private of(key: string): readonly RemoteHold[] {
    const now = this.now();
    const holds = [...(this.holds.get(key)?.values() ?? [])];
    for (const { owner, until } of holds) if (until <= now) this.ended(key, owner);
    return holds.filter(({ until }) => until > now);
  }

  private sweep(): void {
    const now = this.now();
    for (
      let first = this.ending.peek();
      first !== undefined && first.until <= now;
      first = this.ending.peek()
    ) {
      this.ended(first.key, first.owner);
    }
  }
}
