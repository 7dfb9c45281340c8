import type {
  LockStoreError,
  MonotonicMs,
  OwnerId,
  PushedGrant,
  RenewReply,
  RenewRequest,
} from '../lock-store.js';
import { raiseTokens } from '../memory/memory-locks.js';
import type { LocalLocks } from './local-locks.js';

/** A hold of this process that the store granted. */
interface StoreHold {
  readonly owner: OwnerId;
  /** When it is over for this process if nothing prolongs it. */
  until: number;
}

/** What this process holds in the store, so that it is not given away in the process while the store is away. */
export class StoreHolds {
  private readonly holds = new Map<string, StoreHold>();

  constructor(
    private readonly local: LocalLocks,
    private readonly now: () => MonotonicMs,
  ) {}

  began(
    key: string,
    owner: OwnerId,
    until: number,
    { token, tokens = 1 }: Pick<PushedGrant, 'token' | 'tokens'>,
  ): void {
    const former = this.of(key);
    if (former !== undefined && former.owner !== owner) this.ended(key, former.owner);
    this.holds.set(key, { owner, until });
    raiseTokens(token + tokens - 1);
  }

  /** Answers which of the holds the store no longer has. */
  renewed(
    requests: readonly RenewRequest[],
    replies: readonly (RenewReply | LockStoreError)[],
    sentAt: MonotonicMs,
  ): readonly RenewRequest[] {
    return requests.filter(({ key, owner, lease }, index) => {
      const reply = replies[index];
      if (reply === 'renewed') this.prolonged(key, owner, sentAt + lease);
      if (reply !== 'gone' && reply !== 'taken') return false;
      this.ended(key, owner);
      return true;
    });
  }

  prolonged(key: string, owner: OwnerId, until: number): void {
    const hold = this.holds.get(key);
    if (hold?.owner === owner && until > hold.until) hold.until = until;
    if (this.local.isKeptFrom(owner)) this.keep(key);
  }

  ended(key: string, owner: OwnerId): void {
    if (this.holds.get(key)?.owner === owner) this.holds.delete(key);
    this.local.letIn(owner, key);
  }

  /** Keeps everybody who asks in this process from the hold of a key. */
  keep(key: string): void {
    const hold = this.of(key);
    if (hold !== undefined) this.local.keepFrom(key, hold.owner, hold.until);
  }

  private of(key: string): StoreHold | undefined {
    const hold = this.holds.get(key);
    if (hold === undefined || hold.until > this.now()) return hold;
    this.holds.delete(key);
    return undefined;
  }
}
