import { LockStoreError, type WallClockMs } from '../../port/lock-store.js';
import type { KeyValue } from '../protocol/replies.js';
import type { LockRange } from './key-names.js';

/** What an owner has written of itself. */
export interface EntryValue {
  /** Whether it was granted the lock when it wrote this. One that has not may hold it all the same, by now. */
  readonly isHeld: boolean;
  readonly limit: number;
  /** How long it may keep the lock without writing again, ms: from then on if it is held, else from the grant on. */
  readonly lease: number;
  readonly callers: number;
  readonly token: number | undefined;
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
}

/** As it is written in etcd, where people may read it. */
interface Written {
  readonly state: 'held' | 'waiting';
  /** 0 for readers. */
  readonly limit: number;
  readonly lease: number;
  readonly callers?: number;
  readonly token?: number;
  readonly since?: number;
  readonly label?: string;
}

export function writtenEntry({ isHeld, limit, lease, callers, token, since, label }: EntryValue): string {
  const written: Written = {
    state: isHeld ? 'held' : 'waiting',
    limit: limit === Infinity ? 0 : limit,
    lease,
    ...(callers !== 1 && { callers }),
    ...(token !== undefined && { token }),
    ...(since !== undefined && { since }),
    ...(label !== undefined && { label }),
  };
  return JSON.stringify(written);
}

/** The entries of a lock, the oldest first. */
export function readEntries(lock: LockRange, found: readonly KeyValue[]): Entry[] {
  return found.map((one) => readEntry(lock, one));
}

function readEntry(lock: LockRange, { key, value, created, modified }: KeyValue): Entry {
  try {
    const { state, limit, lease, callers = 1, token, since, label } = JSON.parse(value) as Written;
    return {
      key: lock.key,
      name: key,
      owner: key.slice(key.indexOf('/', lock.start.length) + 1),
      created,
      modified,
      isHeld: state === 'held',
      limit: limit === 0 ? Infinity : limit,
      lease,
      callers,
      token,
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
  const [first] = entries;
  if (first === undefined) return [];
  let count = 1;
  while (count < first.limit && entries[count]?.limit === first.limit) count += 1;
  return entries.slice(0, count);
}

/** Whether one more with that limit would hold the lock at once, behind these. */
export function hasRoom(entries: readonly Entry[], limit: number): boolean {
  const [first] = entries;
  if (first === undefined) return true;
  return first.limit === limit && entries.length < limit && holdersIn(entries).length === entries.length;
}

/** Whether callers with these limits may use the same lock. */
export function limitsAgree(one: number, other: number): boolean {
  const isOneOrAll = (limit: number): boolean => limit === 1 || limit === Infinity;
  return one === other || (isOneOrAll(one) && isOneOrAll(other));
}
