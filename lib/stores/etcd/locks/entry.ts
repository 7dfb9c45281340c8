import { countHolders, readLimit, roomBehind, writtenLimit } from '../../port/limits.js';
import { LockStoreError, type WallClockMs } from '../../port/lock-store.js';
import type { KeyValue } from '../protocol/replies.js';
import type { LockRange } from './key-names.js';

/** What an owner has written of itself. */
export interface EntryValue {
  /** Whether it was granted the lock when it wrote this. One that has not may hold it all the same, by now. */
  readonly isHeld: boolean;
  readonly limit: number;
  /** Whether it is renewed by keeping its etcd lease alive, and ends only with that. */
  readonly isKept: boolean;
  /** How long it may keep the lock without writing again, ms: from then on if it is held, else from the grant on. */
  readonly lease: number;
  readonly callers: number;
  readonly token: number | undefined;
  /** How many tokens of the revision at which it was granted are others', where several were granted together. */
  readonly offset: number;
  readonly since: WallClockMs | undefined;
  readonly label: string | undefined;
}

/** An owner that holds a lock or waits for it. */
export interface Entry extends EntryValue {
  /** Of the lock. */
  readonly key: string;
  /** In etcd. */
  readonly name: string;
  readonly owner: string;
  readonly created: number;
  readonly modified: number;
  /** The etcd lease that it lives on. */
  readonly leaseId: number;
}

/** As it is written in etcd, where people may read it. */
interface Written {
  readonly state: 'held' | 'waiting';
  /** 0 for readers. */
  readonly limit: number;
  readonly lease: number;
  readonly kept?: boolean;
  readonly callers?: number;
  readonly token?: number;
  readonly offset?: number;
  readonly since?: number;
  readonly label?: string;
}

export function writtenEntry(entry: EntryValue): string {
  const { isHeld, limit, lease, isKept, callers, token, offset, since, label } = entry;
  const written: Written = {
    state: isHeld ? 'held' : 'waiting',
    limit: writtenLimit(limit),
    lease,
    ...(isKept && { kept: true }),
    ...(callers !== 1 && { callers }),
    ...(token !== undefined && { token }),
    ...(offset !== 0 && { offset }),
    ...(since !== undefined && { since }),
    ...(label !== undefined && { label }),
  };
  return JSON.stringify(written);
}

/** The entries of a lock, the oldest first. */
export function readEntries(lock: LockRange, found: readonly KeyValue[]): Entry[] {
  const entries = found.map((one) => readEntry(lock, one));
  // etcd tells those that were put together in any order.
  if (entries.some(({ offset }) => offset !== 0))
    entries.sort((one, other) => one.created - other.created || one.offset - other.offset);
  return entries;
}

function readEntry(lock: LockRange, { key, value, created, modified, lease: leaseId }: KeyValue): Entry {
  try {
    const {
      state,
      limit,
      lease,
      kept: isKept = false,
      callers = 1,
      token,
      offset = 0,
      since,
      label,
    } = JSON.parse(value) as Written;
    return {
      key: lock.key,
      name: key,
      owner: key.slice(key.indexOf('/', lock.start.length) + 1),
      created,
      modified,
      leaseId,
      isHeld: state === 'held',
      limit: readLimit(limit),
      lease,
      isKept,
      callers,
      token,
      offset,
      since: since as WallClockMs | undefined,
      label,
    };
  } catch (cause) {
    const message = `etcd has something at ${JSON.stringify(key)} that is no lock`;
    throw new LockStoreError(message, { inDoubt: true, retryable: false, cause });
  }
}

/**
 * Those who hold the lock: as many of the oldest entries as fit together. That is all there is to it: nobody writes that a
 * lock passed on, and whoever holds it goes on to hold it until its own entry is deleted.
 */
export function holdersIn<E extends Pick<Entry, 'limit'>>(entries: readonly E[]): readonly E[] {
  return entries.slice(0, countHolders(entries));
}

/** Whether one more with that limit would hold the lock at once, behind these. */
export function hasRoom(entries: readonly Entry[], limit: number): boolean {
  return roomBehind(entries, limit) > 0;
}
