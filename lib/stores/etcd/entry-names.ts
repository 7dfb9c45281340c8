import { isKey } from '../../model/lock-key.js';
import type { QueueEntry } from '../ordered/lock-queue.js';
import type { AcquireRequest } from '../port/lock-store.js';

/** The keys in etcd that belong to one lock. */
export interface LockRange {
  readonly key: string;
  /** The first key after them. */
  readonly end: string;
}

/** `<kind>/<owner>/<number of the entry>`; several permits follow the kind. */
const NAME = /^(x|r|s(\d+))(?:\+(\d+))?\/(.+)\/\d+$/;

/** The names of everything in etcd. Each part ends with a slash, so that none is a prefix of another. */
export class EntryNames {
  readonly base: string;
  /** Where a version with another format leaves its mark. */
  readonly format: string;
  readonly locks: LockRange;
  readonly board: string;
  /** The key that each write of this client names. */
  readonly fence: string;
  private count = 0;

  constructor(
    readonly prefix: string,
    private readonly client: string,
  ) {
    this.base = `${prefix}base`;
    this.format = `${prefix}format`;
    this.locks = rangeBelow(`${prefix}l/`);
    this.board = `${prefix}b/`;
    this.fence = `${prefix}f/${client}`;
  }

  lock(key: string): LockRange {
    return rangeBelow(`${this.locks.key}${escaped(key)}/`);
  }

  /** A new entry. Its name is used once, so that a late deletion can't concern another entry. */
  entry({ key, owner, limit, permits }: AcquireRequest): string {
    const kind = limit === 1 ? 'x' : limit === Infinity ? 'r' : `s${limit}`;
    const several = permits === 1 ? '' : `+${permits}`;
    this.count += 1;
    return `${this.lock(key).key}${kind}${several}/${owner}/${this.count}`;
  }

  /** The number of an entry, which grows with each of its client. */
  countOf(name: string): number {
    return Number(name.slice(name.lastIndexOf('/') + 1));
  }

  /** Whether an entry is one of this client. */
  isOwn(name: string): boolean {
    return this.read(name)?.owner.startsWith(`${this.client}:`) === true;
  }

  /** Undefined if it is not the name of an entry. */
  read(name: string): QueueEntry | undefined {
    const start = this.locks.key.length;
    const slash = name.indexOf('/', start);
    const [, kind, count, permits = 1, owner] = NAME.exec(name.slice(slash + 1)) ?? [];
    if (owner === undefined) return undefined;
    const limit = kind === 'x' ? 1 : kind === 'r' ? Infinity : Number(count);
    return { path: name, owner, limit, permits: Number(permits) };
  }

  keyOf(name: string): string {
    const { length } = this.locks.key;
    const part = name.slice(length, name.indexOf('/', length));
    return part.replaceAll('%2F', '/').replaceAll('%25', '%');
  }

  isEntry(name: string): boolean {
    return name.startsWith(this.locks.key) && isKey(this.keyOf(name)) && this.read(name) !== undefined;
  }

  /** Where a client receives notices that its holds were broken, by owner. */
  breakNotices(client: string): LockRange {
    return rangeBelow(`${this.prefix}m/${client}/`);
  }
}

/** All keys that start with a prefix which ends with a slash. */
export function rangeBelow(prefix: string): LockRange {
  return { key: prefix, end: `${prefix.slice(0, -1)}0` };
}

function escaped(key: string): string {
  return key.replace(/[%/]/g, (character) => (character === '/' ? '%2F' : '%25'));
}
