import { isKey } from '../../../model/lock-key.js';

/** All keys that belong to one lock. */
export interface LockRange {
  /** The lock's name as the user gives it. */
  readonly key: string;
  readonly start: string;
  /** The first key after them. */
  readonly end: string;
}

/** What everything is called in etcd. A slash ends each part, so that none is the beginning of another. */
export class KeyNames {
  /** What tokens are counted from. */
  readonly base: string;

  constructor(readonly prefix: string) {
    this.base = `${prefix}base`;
  }

  lock(key: string): LockRange {
    const start = `${this.prefix}l/${escaped(key)}/`;
    return { key, start, end: endOf(start) };
  }

  /** What processes leave for people. */
  get board(): string {
    return `${this.prefix}b/`;
  }

  /** All locks. */
  get locks(): { readonly start: string; readonly end: string } {
    const start = `${this.prefix}l/`;
    return { start, end: endOf(start) };
  }

  /** The lock of something that belongs to one. */
  keyOf(name: string): string {
    const { start } = this.locks;
    const part = name.slice(start.length, name.indexOf('/', start.length));
    return part.replaceAll('%2F', '/').replaceAll('%25', '%');
  }

  /** Whether it is what an entry of a lock may be called. */
  isEntry(name: string): boolean {
    const { start } = this.locks;
    if (!name.startsWith(start) || !isKey(this.keyOf(name))) return false;
    return /^[^/]+\/(?:x|s\d+)\/[^/]/.test(name.slice(start.length));
  }

  /** Readers and writers (`x`) exclude each other; a semaphore (`s` and its number) goes with none but itself. */
  kind({ start }: LockRange, limit: number): string {
    return `${start}${limit === 1 || limit === Infinity ? 'x' : `s${String(limit)}`}/`;
  }

  entry(lock: LockRange, limit: number, owner: string): string {
    return this.kind(lock, limit) + owner;
  }

  /** Keeps late requests of an owner out. */
  tombstone(key: string, owner: string): string {
    return `${this.prefix}t/${escaped(key)}/${owner}`;
  }

  /** Where a client is told that its holds were broken. */
  mailbox(client: string): string {
    return `${this.prefix}m/${client}/`;
  }
}

/** The first key after all that start with a text which ends with a slash. */
export function endOf(start: string): string {
  return `${start.slice(0, -1)}0`;
}

/** The client of an owner. */
export function clientOf(owner: string): string {
  return owner.slice(0, owner.lastIndexOf(':'));
}

function escaped(key: string): string {
  return key.replace(/[%/]/g, (character) => (character === '/' ? '%2F' : '%25'));
}
