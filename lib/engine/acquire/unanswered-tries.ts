import type { OwnerId } from '../../stores/port/lock-store.js';

/** Owners that stand in no queue and whom the store has not answered yet, with their keys. */
export class UnansweredTries {
  private readonly keys = new Map<OwnerId, string>();
  /** Those whose grant was broken by force before the answer that tells of it. */
  private readonly broken = new Set<OwnerId>();

  /** Those of whom the store has told already that others come first. */
  private readonly held = new Set<OwnerId>();

  begin(owner: OwnerId, key: string): void {
    this.keys.set(owner, key);
  }

  /** The answer is here, or there will be none. Answers whether a grant that it tells of is broken already. */
  end(owner: OwnerId): boolean {
    this.keys.delete(owner);
    if (this.held.size > 0) this.held.delete(owner);
    return this.broken.size > 0 && this.broken.delete(owner);
  }

  break(owner: OwnerId): void {
    if (this.keys.has(owner)) this.broken.add(owner);
  }

  heldByOthers(owner: OwnerId): void {
    if (this.keys.has(owner)) this.held.add(owner);
  }

  isHeldByOthers(owner: OwnerId | undefined): boolean {
    return owner !== undefined && this.held.has(owner);
  }

  [Symbol.iterator](): Iterator<readonly [OwnerId, string]> {
    return this.keys.entries();
  }
}
