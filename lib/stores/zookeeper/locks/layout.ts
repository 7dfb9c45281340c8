import { isKey } from '../../../model/lock-key.js';
import { clientOf, LockQueue, type OwnedEntry } from '../../ordered/lock-queue.js';
import { isOfSemaphore } from '../../port/limits.js';
import type { AcquireRequest } from '../../port/lock-store.js';
import type { Stat } from '../connection/protocol.js';

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
 * The content of a queue entry's node, besides its name:
 * - `free`: created when the lock seemed free. If it was, the entry has held the lock since then.
 * - `waits`: the entry holds the lock only once this changes, whatever its position.
 * - `holds`.
 */
export interface EntryData {
  readonly state: 'free' | 'waits' | 'holds';
  /** ms, from when this was written. */
  readonly lease: number;
  /** Whether the hold lasts until its process releases it or the session ends. Otherwise waiters also measure its lease. */
  readonly isKept: boolean;
  /** How long the owner may take to write that it holds the lock, ms. */
  readonly claim: number;
  readonly callers: number;
  readonly label: string | undefined;
  /** Omitted if the token is that of the transaction that wrote this. */
  readonly token?: number | undefined;
  /** ms since the epoch. */
  readonly since?: number | undefined;
}

const STATES = { free: 'f', waits: 'w', holds: 'h' } as const;

/** Short names, since this is written for every hold. JSON omits undefined fields. */
interface EncodedData {
  readonly s: string;
  readonly l: number;
  readonly k: 1 | undefined;
  readonly c: number;
  readonly n: number;
  readonly b: string | undefined;
  readonly t: number | undefined;
  readonly a: number | undefined;
}

export function encodeData(data: EntryData): Buffer {
  const { state, lease: l, isKept, claim: c, callers: n, label: b, token: t, since: a } = data;
  const encodedData: EncodedData = { s: STATES[state], l, k: isKept ? 1 : undefined, c, n, b, t, a };
  return Buffer.from(JSON.stringify(encodedData));
}

export function decodeData(bytes: Buffer): EntryData {
  const { s, l, k, c, n, b, t, a } = JSON.parse(bytes.toString()) as EncodedData;
  const state = s === STATES.free ? 'free' : s === STATES.waits ? 'waits' : 'holds';
  return { state, lease: l, isKept: k === 1, claim: c, callers: n, label: b, token: t, since: a };
}

/**
 * When and by which transaction an entry at a holder's position acquired the lock; undefined if it has not written that
 * yet.
 */
export function grantIn(data: EntryData, stat: Stat): { zxid: number; since: number } | undefined {
  if (data.state === 'waits') return undefined;
  return data.state === 'free'
    ? { zxid: stat.czxid, since: stat.ctime }
    : { zxid: stat.mzxid, since: stat.mtime };
}

/** A holder or waiter of a lock, by the name of its node. */
export interface QueueEntry extends OwnedEntry {
  readonly path: string;
  readonly sequence: number;
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

/** None for a node that is not an entry. */
function entriesNamed(container: string, name: string): [] | [QueueEntry] {
  const [, kind, places, owner, permits = 1, sequence] = NAME.exec(name) ?? [];
  if (owner === undefined) return [];
  const limit = kind === 'x' ? 1 : kind === 'r' ? Infinity : Number(places);
  const path = `${container}/${name}`;
  return [{ path, owner: decoded(owner), limit, permits: Number(permits), sequence: Number(sequence) }];
}

/** How many waiters of a semaphore watch the whole queue: if one of them is stopped, the others are served. */
const MOST_IN_FRONT = 4;

/** Of how many clients a waiter reads all holders: if one client has died with all of its waiters, the others do. */
const MOST_READERS = 4;

/** The queue of a lock, as read from its container. */
export class NodeQueue extends LockQueue<QueueEntry> {
  /**
   * @param names the names of the nodes in the lock's container, in any order
   * @param changedAt the transaction that last created or deleted an entry
   */
  constructor(
    container: string,
    names: readonly string[],
    readonly changedAt: number,
  ) {
    const entries = names.flatMap((name) => entriesNamed(container, name));
    super(entries.sort((one, other) => one.sequence - other.sequence));
  }

  /** -1 if there is no such entry. */
  indexOf(path: string): number {
    return this.entries.findIndex((entry) => entry.path === path);
  }

  /**
   * The entry that a waiter watches: it can't hold the lock before that entry is deleted or, in a semaphore, holds the
   * lock. Readers need not wait for readers.
   */
  predecessorOf(index: number): QueueEntry | undefined {
    if (this.entries[index]?.limit !== Infinity) return this.entries[index - 1];
    return this.entries
      .slice(0, index)
      .reverse()
      .find(({ limit }) => limit !== Infinity);
  }

  /** Whether a waiter is among the first, which in a semaphore watch the whole queue. */
  isFront(index: number): boolean {
    const { limit = 1 } = this.entries[index] ?? {};
    return index < this.holderCount + (isOfSemaphore(limit) ? Math.min(limit, MOST_IN_FRONT) : 1);
  }

  /** Whether a waiter reads all holders: one at the front, and the first waiter of each of the first clients. */
  readsAllHolders(index: number): boolean {
    if (this.isFront(index)) return true;
    const clients = new Set(this.entries.slice(this.holderCount, index).map(({ owner }) => clientOf(owner)));
    return clients.size < MOST_READERS && !clients.has(clientOf(this.entries[index]?.owner ?? ''));
  }
}
