import { isKey } from '../../model/lock-key.js';
import type { QueueEntry } from '../ordered/lock-queue.js';
import type { AcquireRequest } from '../port/lock-store.js';

/** Where the store keeps its nodes. */
export class LockPaths {
  /** Contains a container for each lock, whose children are the entries of its queue. */
  readonly locks: string;
  /** Contains the nodes of clients besides their locks. */
  readonly clients: string;
  /** The number from which tokens are counted. */
  readonly base: string;
  /** Where a version with another format leaves its mark. */
  readonly format: string;

  /** @param root without a slash at its end */
  constructor(readonly root: string) {
    this.locks = `${root}/locks`;
    this.clients = `${root}/clients`;
    this.base = `${root}/base`;
    this.format = `${root}/format`;
  }

  ofKey(key: string): string {
    return `${this.locks}/${encoded(key)}`;
  }

  /** The key of the lock whose container is at this path, if there is one. */
  keyAt(path: string): string | undefined {
    const start = `${this.locks}/`;
    const name = path.startsWith(start) ? path.slice(start.length) : '';
    return isEncodedKey(name) ? decoded(name) : undefined;
  }

  /** A lock without a key: encoded keys have no plus sign. */
  ofTrial(id: string): string {
    return `${this.locks}/+${id}`;
  }

  /** The node to which other clients write when they have broken a hold of this one. */
  breakNoticeOf(client: string): string {
    return `${this.clients}/m-${encoded(client)}`;
  }

  /** The node whose version every request of the client's current connection names. */
  fenceOf(client: string, session: string): string {
    return `${this.clients}/f-${encoded(client)}-${session}`;
  }
}

/** A text as the name of a node. Different texts have different names, without characters that ZooKeeper rejects. */
export function encoded(text: string): string {
  const name = encodeURIComponent(text);
  return name === '.' || name === '..' ? name.replace(/\./g, '%2E') : name;
}

export function decoded(name: string): string {
  return decodeURIComponent(name);
}

/** Whether the name is that of a lock. */
export function isEncodedKey(name: string): boolean {
  try {
    const key = decoded(name);
    return isKey(key) && encoded(key) === name;
  } catch {
    return false;
  }
}

/**
 * ZooKeeper ends the names of sequential nodes with a number of ten digits, which grows. Several permits follow the
 * owner, whose encoded name has no plus sign.
 */
const NAME = /^(x|r|s(\d+))-([^+]+)(?:\+(\d+))?-(\d{10})$/;

/** The name of a new entry, to which ZooKeeper adds the number. */
export function nameFor({
  owner,
  limit,
  permits,
}: Pick<AcquireRequest, 'owner' | 'limit' | 'permits'>): string {
  const kind = limit === 1 ? 'x' : limit === Infinity ? 'r' : `s${limit}`;
  const several = permits === 1 ? '' : `+${permits}`;
  return `${kind}-${encoded(owner)}${several}-`;
}

/** The number in the path of an entry; 0 if there is none. */
export function sequenceIn(path: string): number {
  const digits = path.slice(-10);
  return /^\d+$/.test(digits) ? Number(digits) : 0;
}

/** The entries of a lock, oldest first. Other nodes in its container are ignored. */
export function entriesIn(container: string, names: readonly string[]): readonly QueueEntry[] {
  return names
    .flatMap((name) => {
      const [, kind, count, owner, permits = 1, sequence] = NAME.exec(name) ?? [];
      if (owner === undefined) return [];
      const limit = kind === 'x' ? 1 : kind === 'r' ? Infinity : Number(count);
      const path = `${container}/${name}`;
      return { path, owner: decoded(owner), limit, permits: Number(permits), sequence: Number(sequence) };
    })
    .sort((one, other) => one.sequence - other.sequence);
}
