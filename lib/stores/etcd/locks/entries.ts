import { isKey } from '../../../model/lock-key.js';
import { readLimit, writtenLimit } from '../../port/limits.js';
import { LockStoreError, type WallClockMs } from '../../port/lock-store.js';
import type { KeyValue } from '../connection/protocol.js';

/** The keys in etcd that belong to one lock. */
export interface LockRange {
  /** The lock's key as the user gives it. */
  readonly key: string;
  readonly start: string;
  /** The first key after them. */
  readonly end: string;
}

/** The names of everything in etcd. Each part ends with a slash, so that none is a prefix of another. */
export class KeyNames {
  readonly base: string;
  /** Where a version with another format leaves its mark. */
  readonly format: string;
  readonly locks: { readonly start: string; readonly end: string };
  readonly board: string;

  constructor(readonly prefix: string) {
    this.base = `${prefix}base`;
    this.format = `${prefix}format`;
    this.locks = { start: `${prefix}l/`, end: `${prefix}l0` };
    this.board = `${prefix}b/`;
  }

  lock(key: string): LockRange {
    const start = `${this.locks.start}${escaped(key)}/`;
    return { key, start, end: endOf(start) };
  }

  keyOf(name: string): string {
    const { start } = this.locks;
    const part = name.slice(start.length, name.indexOf('/', start.length));
    return part.replaceAll('%2F', '/').replaceAll('%25', '%');
  }

  isEntry(name: string): boolean {
    const { start } = this.locks;
    if (!name.startsWith(start) || !isKey(this.keyOf(name))) return false;
    return /^[^/]+\/(?:x|s\d+)\/[^/]/.test(name.slice(start.length));
  }

  /** Readers and writers (`x`) use one range, since they exclude each other; a semaphore has one for its limit (`s5`). */
  kind({ start }: LockRange, limit: number): string {
    return `${start}${limit === 1 || limit === Infinity ? 'x' : `s${String(limit)}`}/`;
  }

  entry(lock: LockRange, limit: number, owner: string): string {
    return this.kind(lock, limit) + owner;
  }

  /** While it exists, late requests of the owner are rejected. */
  tombstone(key: string, owner: string): string {
    return `${this.prefix}t/${escaped(key)}/${owner}`;
  }

  /** The prefix under which a client watches for notices that its holds were broken. */
  breakNotices(client: string): string {
    return `${this.prefix}m/${client}/`;
  }
}

/** The first key after all keys that start with a prefix which ends with a slash. */
export function endOf(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}

function escaped(key: string): string {
  return key.replace(/[%/]/g, (character) => (character === '/' ? '%2F' : '%25'));
}

export interface EntryValue {
  /** Whether the owner held the lock when it wrote the entry. A waiter may have acquired it since then. */
  readonly isHeld: boolean;
  readonly limit: number;
  /** How many permits of a semaphore it has or waits for; else 1. */
  readonly permits: number;
  /** Whether the etcd lease, which the session keeps alive, is the only end of the hold; `lease` does not count then. */
  readonly isKept: boolean;
  /** How long the hold lasts without another write, ms, counted from the write, or from the grant if the owner waits. */
  readonly lease: number;
  readonly callers: number;
  readonly token: number | undefined;
  readonly since: WallClockMs | undefined;
  readonly label: string | undefined;
}

/** The key in etcd of an owner that holds a lock or waits for it. */
export interface Entry extends EntryValue {
  /** The lock's key. */
  readonly key: string;
  /** The entry's key in etcd. */
  readonly name: string;
  readonly owner: string;
  readonly created: number;
  readonly modified: number;
  readonly leaseId: number;
}

/** The value as JSON, readable by people who inspect etcd. Fields with their default are omitted. */
interface Written {
  readonly state: 'held' | 'waiting';
  readonly limit: number;
  readonly permits?: number;
  readonly lease: number;
  readonly kept?: boolean;
  readonly callers?: number;
  readonly token?: number | undefined;
  readonly since?: number | undefined;
  readonly label?: string | undefined;
}

export function writtenEntry(entry: EntryValue): string {
  const { isHeld, limit, permits, lease, isKept, callers, token, since, label } = entry;
  const written: Written = {
    state: isHeld ? 'held' : 'waiting',
    limit: writtenLimit(limit),
    ...(permits !== 1 && { permits }),
    lease,
    ...(isKept && { kept: true }),
    ...(callers !== 1 && { callers }),
    token,
    since,
    label,
  };
  return JSON.stringify(written);
}

/** The entries of a lock, oldest first. */
export function readEntries(lock: LockRange, found: readonly KeyValue[]): Entry[] {
  return found.map((one) => readEntry(lock, one));
}

function readEntry(
  lock: LockRange,
  { key: name, value, created, modified, lease: leaseId }: KeyValue,
): Entry {
  try {
    const written = JSON.parse(value) as Written;
    const { state, limit, permits = 1, lease, kept = false, callers = 1 } = written;
    const { token, since, label } = written;
    return {
      key: lock.key,
      name,
      owner: name.slice(name.indexOf('/', lock.start.length) + 1),
      created,
      modified,
      leaseId,
      isHeld: state === 'held',
      limit: readLimit(limit),
      permits,
      lease,
      isKept: kept,
      callers,
      token,
      since: since as WallClockMs | undefined,
      label,
    };
  } catch (cause) {
    const message = `etcd has something at ${JSON.stringify(name)} that is not a lock`;
    throw new LockStoreError(message, { inDoubt: true, retryable: false, cause });
  }
}

/** The name under which a session knows its entry. Owner ids are used once, but users of the port may request any key. */
export function ownName(key: string, owner: string): string {
  return `${owner} ${key}`;
}
