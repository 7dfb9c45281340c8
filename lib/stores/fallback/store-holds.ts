import type { MonotonicMs, OwnerId } from '../lock-store.js';

/** A hold of this process that the store granted. */
export interface StoreHold {
  readonly key: string;
  readonly owner: OwnerId;
  /** When it is over for this process if nothing prolongs it. */
  until: MonotonicMs;
}

/** What this process holds in the store, so that it is not given away in the process while the store is away. */
export class StoreHolds {
  private readonly holds = new Map<string, StoreHold>();

  began(hold: StoreHold): void {
    this.holds.set(hold.key, hold);
  }

  renewed(key: string, owner: OwnerId, until: MonotonicMs): void {
    const hold = this.holds.get(key);
    if (hold?.owner === owner && until > hold.until) hold.until = until;
  }

  ended(key: string, owner: OwnerId): void {
    if (this.holds.get(key)?.owner === owner) this.holds.delete(key);
  }

  /** The hold of a key, if it is not over. */
  of(key: string, now: MonotonicMs): StoreHold | undefined {
    const hold = this.holds.get(key);
    if (hold === undefined || hold.until > now) return hold;
    this.holds.delete(key);
    return undefined;
  }
}
