import { IndexedHeap } from '../../common/indexed-heap.js';
import type {
  MonotonicMs,
  OwnerId,
  PushedGrant,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
} from '../port/lock-store.js';
import type { RenewReplies } from '../port/renew-in-parts.js';
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

  add(
    { key, limit, label }: LockSpec,
    owner: OwnerId,
    until: number,
    { token, tokens = 1 }: Pick<PushedGrant, 'token' | 'tokens'>,
  ): void {
    this.sweep();
    for (const former of this.of(key)) {
      const isBeside = limit > 1 && former.limit === limit;
      if (former.owner !== owner && !isBeside) this.remove(key, former.owner);
    }
    const holds = this.holds.get(key) ?? new Map<OwnerId, RemoteHold>();
    this.holds.set(key, holds);
    holds.set(owner, { key, owner, limit, label, until, heapIndex: -1 });
    raiseTokens(token + tokens - 1);
  }

  /** Answers which of the holds the store no longer has. */
  onRenewed(
    requests: readonly RenewRequest[],
    replies: RenewReplies,
    sentAt: MonotonicMs,
  ): readonly RenewRequest[] {
    return requests.filter((request, index) => {
      const reply = replies[index];
      if (reply === 'renewed') this.extend(request, sentAt + request.lease);
      if (reply !== 'gone' && reply !== 'taken') return false;
      this.remove(request.key, request.owner);
      return true;
    });
  }

  onReserved(request: ReserveRequest, reply: ReserveReply, sentAt: MonotonicMs): void {
    if (reply.outcome === 'reserved') {
      this.extend(request, sentAt + request.lease);
      raiseTokens(reply.token + request.tokens - 1);
    } else this.remove(request.key, request.owner);
  }

  private extend({ key, owner, exactly = false }: RenewRequest, until: number): void {
    const hold = this.holds.get(key)?.get(owner);
    if (hold !== undefined && (exactly || until > hold.until)) {
      if (hold.heapIndex !== -1) this.ending.remove(hold);
      hold.until = until;
      if (exactly) this.ending.push(hold);
    }
    if (this.local.isBlocking(owner)) this.blockLocally(key);
  }

  remove(key: string, owner: OwnerId): void {
    const holds = this.holds.get(key);
    const hold = holds?.get(owner);
    if (hold !== undefined && hold.heapIndex !== -1) this.ending.remove(hold);
    holds?.delete(owner);
    if (holds?.size === 0) this.holds.delete(key);
    this.local.unblock(owner, key);
  }

  /** Enters the holds of a key in the locks of this process, so that nobody gets it there beside them. */
  blockLocally(key: string): void {
    for (const hold of this.of(key)) this.local.block(hold);
  }

  /** Those that are not over. */
  private of(key: string): readonly RemoteHold[] {
    const now = this.now();
    const holds = [...(this.holds.get(key)?.values() ?? [])];
    for (const { owner, until } of holds) if (until <= now) this.remove(key, owner);
    return holds.filter(({ until }) => until > now);
  }

  private sweep(): void {
    const now = this.now();
    for (
      let first = this.ending.peek();
      first !== undefined && first.until <= now;
      first = this.ending.peek()
    ) {
      this.remove(first.key, first.owner);
    }
  }
}
