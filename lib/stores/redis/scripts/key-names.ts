/** Follows the prefix in the library's own names. A user's key that starts with it gets it twice. */
const MARK = '@:';
/** In a cluster, the slot of the board, which belongs to no lock. */
const SLOT_OF_BOARD = 0;
const SLOTS = 16_384;

/**
 * How a client subscribes: `p`, plain; `s`, sharded, delivered only by the server of the slot (Redis 7); `a`, plain in
 * a cluster, where messages arrive from any server, so that `PUBLISH` can't count the receivers.
 */
export type PubSubMode = 'p' | 's' | 'a';

/** What a list of held locks needs to know of their names. */
export interface ListedNames {
  /** The key of the lock with this name; undefined if it is not the name of a lock. */
  keyOf(name: string): string | undefined;
  /** A pattern for SCAN that matches all locks whose keys start like this, and some others. */
  patternOf(start: string): string;
}

/**
 * The names of everything in Redis. No two keys have a name in common, whatever they contain, and all names of a
 * lock are in one hash slot.
 */
export class KeyNames implements ListedNames {
  /** Cached, since every request needs one. */
  private readonly sharedNames = new Map<string, string>();
  /** Whether all locks use one fencing counter etc., rather than one for each slot. */
  private readonly isOne: boolean;

  /** @param isSpread whether the names are spread over the slots of a cluster */
  constructor(
    readonly prefix: string,
    private readonly isSpread = false,
  ) {
    this.isOne = !isSpread || hashTagOf(prefix) !== undefined;
  }

  of(key: string): LockNames {
    return new LockNames(this.prefix, key.startsWith(MARK) ? MARK + key : key);
  }

  keyOf(name: string): string | undefined {
    if (!name.startsWith(this.prefix)) return undefined;
    const key = name.slice(this.prefix.length);
    if (!key.startsWith(MARK)) return key === '' ? undefined : key;
    const marked = key.slice(MARK.length);
    return marked.startsWith(MARK) ? marked : undefined;
  }

  patternOf(start: string): string {
    return patternOf(this.of(start).lock);
  }

  /** The hash slot of a key in a cluster. One script call can include several locks of one slot. */
  slotOf(key: string): number {
    return this.isSpread ? keySlot(this.of(key).lock) : 0;
  }

  /** The last fencing token: one for all locks, or one for each slot. */
  fence(slot: number): string {
    return this.shared('fence', slot);
  }

  /** The start of the channel names of clients; in a cluster, of the server that has the slot. */
  channels(slot: number): string {
    return `${this.shared('grants', slot)}:`;
  }

  /** The tombstones of a client. */
  tombstones(slot: number, client: string): string {
    return `${this.shared('gone', slot)}:${client}`;
  }

  /** The start of names for trying a user's permissions. */
  trial(slot: number, client: string): string {
    return `${this.shared('check', slot)}:${client}`;
  }

  /** Where a version with another format leaves its mark; in a cluster, on the server that has the slot. */
  format(slot: number): string {
    return this.shared('format', slot);
  }

  /** The board. All its names start with this one and are in its slot. */
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

/** A pattern for SCAN that matches all names that start like this. */
export function patternOf(start: string): string {
  // No wildcard but the last one: older servers take minutes for some patterns (CVE-2022-36021).
  return `${start.replace(/[\\[\]*?]/g, '\\$&')}*`;
}

/** The names of one lock. */
export class LockNames {
  readonly lock: string;
  private readonly suffix: string;

  constructor(
    private readonly prefix: string,
    key: string,
  ) {
    this.lock = prefix + key;
    this.suffix = suffixOf(this.lock, key);
  }

  get queue(): string {
    return `${this.prefix}${MARK}queue:${this.suffix}`;
  }

  get waiters(): string {
    return `${this.prefix}${MARK}waiters:${this.suffix}`;
  }
}

/** Identifies the lock in the names of its queue and waiters, and puts them into the lock's slot. */
function suffixOf(lock: string, key: string): string {
  // The lock has a hash tag, which the prefix or the key repeats.
  if (hashTagOf(lock) !== undefined) return `=${key}`;
  if (!lock.includes('}')) return `{${lock}}`;
  // Redis hashes the whole name of the lock, but braces in it would end a tag early. Use another tag of the same slot.
  return `#{${String(numberInSlot(keySlot(lock)))}}${key}`;
}

/** The hash slot of a name, 0 … 16 383. */
export function keySlot(name: string): number {
  return crc16(Buffer.from(hashTagOf(name) ?? name)) % SLOTS;
}

/** The part of a name that Redis Cluster hashes instead of the whole name, if it has one. */
function hashTagOf(name: string): string | undefined {
  const open = name.indexOf('{');
  if (open === -1) return undefined;
  const close = name.indexOf('}', open + 1);
  return close > open + 1 ? name.slice(open + 1, close) : undefined;
}

/** CRC-16/XMODEM, see https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/ */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021) & 0xffff;
    }
  }
  return crc;
}

/** The smallest number found for each slot; all numbers below `tried` have been checked. */
const numbers: number[] = [];
let tried = 0;

/** A number whose digits hash to the slot, always the same one. */
function numberInSlot(slot: number): number {
  for (;;) {
    const known = numbers[slot];
    if (known !== undefined) return known;
    numbers[crc16(Buffer.from(String(tried))) % SLOTS] ??= tried;
    tried += 1;
  }
}
