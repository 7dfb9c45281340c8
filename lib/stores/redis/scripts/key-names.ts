import { hashTagOf, keySlot, numberInSlot } from './key-slot.js';

/** After the prefix, marks names of the library's own; a user's key that starts so is written with it doubled. */
const MARK = '@:';
/** In a cluster, of what belongs to no lock. */
const SLOT_OF_BOARD = 0;

/**
 * What the things of a lock are called in Redis. No two keys share a name whatever they contain (B70), and everything
 * that belongs to one lock lies in one hash slot (P2).
 */
export class KeyNames {
  /** Those that all locks share, where they do; made once, since every request needs one. */
  private readonly sharedNames = new Map<string, string>();
  /** Whether all locks share them. */
  readonly isOne: boolean;

  /** @param isSpread whether the names are spread over the slots of a cluster, so that what is shared has to be, too */
  constructor(
    readonly prefix: string,
    private readonly isSpread = false,
  ) {
    this.isOne = !isSpread || hashTagOf(prefix) !== undefined;
  }

  of(key: string): LockNames {
    return new LockNames(this.prefix, key.startsWith(MARK) ? MARK + key : key);
  }

  /** The key whose lock has that name; undefined if no lock has. */
  keyOf(name: string): string | undefined {
    if (!name.startsWith(this.prefix)) return undefined;
    const key = name.slice(this.prefix.length);
    if (!key.startsWith(MARK)) return key === '' ? undefined : key;
    const marked = key.slice(MARK.length);
    return marked.startsWith(MARK) ? marked : undefined;
  }

  /** A pattern of SCAN for the names of the locks whose keys start like this, and of some others. */
  patternOf(start: string): string {
    // No wildcard but the last one: older servers take minutes for some patterns (CVE-2022-36021).
    return `${this.of(start).lock.replace(/[\\[\]*?]/g, '\\$&')}*`;
  }

  /** The hash slot of a key in a cluster. Locks of one slot may share a script. */
  slotOf(key: string): number {
    return this.isSpread ? keySlot(this.of(key).lock) : 0;
  }

  /** The last fencing token: one for all locks, or for all of a slot (P3). */
  fence(slot: number): string {
    return this.shared('fence', slot);
  }

  /** What the channel of a client starts with; in a cluster it is one of the server that has the slot. */
  channels(slot: number): string {
    return `${this.shared('grants', slot)}:`;
  }

  /** The tombstones of a client. */
  tombstones(slot: number, client: string): string {
    return `${this.shared('gone', slot)}:${client}`;
  }

  /** Names to try a user's permissions on. */
  trial(slot: number, client: string): string {
    return `${this.shared('check', slot)}:${client}`;
  }

  /** What processes leave for people; what else belongs to it starts with that name, and lies in the same slot. */
  get board(): string {
    return this.shared('board', SLOT_OF_BOARD);
  }

  private shared(kind: string, slot: number): string {
    const known = this.sharedNames.get(kind);
    if (known !== undefined) return known;
    const name = `${this.prefix}${MARK}${kind}`;
    if (!this.isOne) return `${name}:{${String(numberInSlot(slot))}}`;
    this.sharedNames.set(kind, name);
    return name;
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
