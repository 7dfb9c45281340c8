import type { EntryData } from '../ordered/entry-data.js';
import type { QueueEntry } from '../ordered/lock-queue.js';
import { readLimit, writtenLimit } from '../port/limits.js';

/** The value of an entry as JSON, readable by people who inspect etcd. Fields with their default are omitted. */
interface Written {
  readonly state: 'held' | 'waiting';
  readonly limit: number;
  readonly permits?: number;
  /** Of a waiter: how long it may take to write that it holds the lock. */
  readonly lease: number;
  readonly kept?: boolean;
  readonly callers?: number;
  readonly token?: number | undefined;
  readonly since?: number | undefined;
  readonly label?: string | undefined;
}

type Permits = Pick<QueueEntry, 'limit' | 'permits'>;

export function encodeEntry({ limit, permits }: Permits, data: EntryData): string {
  const { state, lease, isKept, claim, callers, token, since, label } = data;
  const written: Written = {
    state: state === 'waits' ? 'waiting' : 'held',
    limit: writtenLimit(limit),
    ...(permits !== 1 && { permits }),
    lease: state === 'waits' ? claim : lease,
    ...(isKept && { kept: true }),
    ...(callers !== 1 && { callers }),
    token,
    since,
    label,
  };
  return JSON.stringify(written);
}

/** @param isNew whether it was not written since it was created */
export function decodeEntry(text: string, isNew: boolean): Permits & { readonly data: EntryData } {
  const written = JSON.parse(text) as Written;
  const {
    state,
    limit,
    permits = 1,
    lease,
    kept: isKept = false,
    callers = 1,
    token,
    since,
    label,
  } = written;
  const held = isNew ? 'free' : 'holds';
  const data: EntryData = {
    state: state === 'waiting' ? 'waits' : held,
    lease,
    isKept,
    claim: lease,
    callers,
    label,
    token,
    since,
  };
  return { limit: readLimit(limit), permits, data };
}
