import type { MonotonicMs } from '../port/lock-store.js';

/**
 * The content of an entry:
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
  /** What to add to that token: the transaction has created several entries. */
  readonly offset?: number | undefined;
  /** ms since the epoch. */
  readonly since?: number | undefined;
}

/** An entry as it was read. */
export interface ReadEntry {
  readonly data: EntryData;
  /** The revision that created it. */
  readonly created: number;
  /** The revision that last wrote it. */
  readonly modified: number;
  /** How often it was written since it was created. */
  readonly writes: number;
  /** Whether it belongs to the current session of this client. */
  readonly isOfSession: boolean;
  /** When the read was sent, if it saw everything that was committed before. */
  readonly readAt?: MonotonicMs;
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
  readonly o: number | undefined;
  readonly a: number | undefined;
}

export function encodeData(data: EntryData): string {
  const { state, lease: l, isKept, claim: c, callers: n, label: b, token: t, offset: o, since: a } = data;
  const encodedData: EncodedData = { s: STATES[state], l, k: isKept ? 1 : undefined, c, n, b, t, o, a };
  return JSON.stringify(encodedData);
}

export function decodeData(text: string): EntryData {
  const { s, l, k, c, n, b, t, o, a } = JSON.parse(text) as EncodedData;
  const state = s === STATES.free ? 'free' : s === STATES.waits ? 'waits' : 'holds';
  return { state, lease: l, isKept: k === 1, claim: c, callers: n, label: b, token: t, offset: o, since: a };
}

/** The revision by which an entry at a holder's position acquired the lock; undefined if it has not written that yet. */
export function grantRevision({ data, created, modified }: ReadEntry): number | undefined {
  if (data.state === 'waits') return undefined;
  return data.state === 'free' ? created : modified;
}
