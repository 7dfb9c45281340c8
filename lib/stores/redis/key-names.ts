import type { OwnerId } from '../lock-store.js';
import { hashTagOf, keySlot, numberInSlot } from './key-slot.js';

/** After the prefix, marks names of the library's own; a user's key that starts so is written with it doubled. */
const MARK = '@:';

/**
 * What the things of a lock are called in Redis. No two keys share a name whatever they contain (B70), and everything
 * that belongs to one lock lies in one hash slot (P2).
 */
export class KeyNames {
  /** The last fencing token; one for all locks (P3). */
  readonly fence: string;
  /** What the channel of a client starts with. */
  readonly channels: string;

  constructor(private readonly prefix: string) {
    this.fence = `${prefix}${MARK}fence`;
    this.channels = `${prefix}${MARK}grants:`;
  }

  of(key: string): LockNames {
    return new LockNames(this.prefix, key.startsWith(MARK) ? MARK + key : key);
  }
}

class LockNames {
  readonly lock: string;
  private readonly place: string;

  constructor(
    private readonly prefix: string,
    key: string,
  ) {
    this.lock = prefix + key;
    this.place = placeOf(this.lock, key);
  }

  get queue(): string {
    return this.helper('queue');
  }

  get waiters(): string {
    return this.helper('waiters');
  }

  gone(owner: OwnerId): string {
    return this.helper(`gone:${owner}`);
  }

  private helper(kind: string): string {
    return `${this.prefix}${MARK}${kind}:${this.place}`;
  }
}

/** The end of a helper's name: names the lock, and hashes to the lock's slot. */
function placeOf(lock: string, key: string): string {
  // The name has a tag that Redis uses: the helper repeats it, in the prefix or here.
  if (hashTagOf(lock) !== undefined) return `=${key}`;
  if (!lock.includes('}')) return `{${lock}}`;
  // The whole name counts, but braces in it would end a tag early: another tag of the same slot.
  return `#{${String(numberInSlot(keySlot(lock)))}}${key}`;
}
