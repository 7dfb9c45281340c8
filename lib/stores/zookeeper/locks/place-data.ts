import type { Stat } from '../connection/operations.js';

/**
 * What the node of a place says beside its name:
 * - `free`: created where nobody seemed to be before. If so, it holds the lock since then.
 * - `waits`: it holds the lock only when it has said so, however it stands.
 * - `holds`.
 */
export interface PlaceData {
  readonly state: 'free' | 'waits' | 'holds';
  /** ms, from when this was written. */
  readonly lease: number;
  /** Whether a hold lasts until its process releases it or its session ends. Otherwise waiters measure its lease, too. */
  readonly isKept: boolean;
  /** How long it may take, ms, to say that it holds the lock when it does. */
  readonly claim: number;
  readonly callers: number;
  readonly label: string | undefined;
  /** Left out where the transaction that wrote this gives it. */
  readonly token?: number | undefined;
  /** ms since the epoch. */
  readonly since?: number | undefined;
}

const STATES = { free: 'f', waits: 'w', holds: 'h' } as const;

/** Short names, as there is one for every hold. */
interface Written {
  readonly s: string;
  readonly l: number;
  readonly k?: 1;
  readonly c: number;
  readonly n: number;
  readonly b?: string;
  readonly t?: number;
  readonly a?: number;
}

export function written(data: PlaceData): Buffer {
  const { state, lease, isKept, claim, callers, label, token, since } = data;
  const words: Written = {
    s: STATES[state],
    l: lease,
    ...(isKept && { k: 1 }),
    c: claim,
    n: callers,
    ...(label !== undefined && { b: label }),
    ...(token !== undefined && { t: token }),
    ...(since !== undefined && { a: since }),
  };
  return Buffer.from(JSON.stringify(words));
}

export function readPlaceData(bytes: Buffer): PlaceData {
  const { s, l, k, c, n, b, t, a } = JSON.parse(bytes.toString()) as Written;
  const state = s === STATES.free ? 'free' : s === STATES.waits ? 'waits' : 'holds';
  return { state, lease: l, isKept: k === 1, claim: c, callers: n, label: b, token: t, since: a };
}

/** Since when whoever stands there as a holder holds the lock, and by which transaction; undefined if it has not said so yet. */
export function grantOf(data: PlaceData, stat: Stat): { zxid: number; since: number } | undefined {
  if (data.state === 'waits') return undefined;
  return data.state === 'free'
    ? { zxid: stat.czxid, since: stat.ctime }
    : { zxid: stat.mzxid, since: stat.mtime };
}
