import type { Overview, ShownHold, ShownHolder, ShownLock } from '../wire.js';
import { place } from './format.js';
import { addressId, holdId, isFollowedBy, type HeldRow } from './held-row.js';

/** A lock as the store had it, and when it was asked, ms since the epoch. */
export interface ListedLock extends ShownLock {
  readonly at: number;
}

interface ListedRow {
  readonly row: HeldRow;
  readonly at: number;
}

type Process = Overview['processes'][number];

/**
 * What the store was asked for, without the holds that a process tells of and those that are over by now, as far as that is
 * known: their lease has run out, another hold began that can't be beside them, their process told of their end.
 *
 * @param latest of each lock the hold that began last
 */
export function listedRows(
  { processes, now }: Overview,
  listed: ReadonlyMap<string, ListedLock>,
  latest: ReadonlyMap<string, ShownHold>,
): readonly ListedRow[] {
  const ends = toldEnds(processes);
  const told = toldTokens(processes);
  const rows: ListedRow[] = [];
  for (const [address, lock] of listed) {
    const { key, instance, mode, limit, at, waiting } = lock;
    const last = latest.get(address);
    for (const holder of untold(lock.holders, told.get(address))) {
      const { token, since, remaining, remainingIsBound, label, process } = holder;
      const left = remaining === null ? null : remaining - Math.max(0, now - at);
      if (left !== null && left <= 0) continue;
      if (last !== undefined && (token ?? 0) < last.token && isFollowedBy(limit, at, last)) continue;
      if ((ends.get(holdId(lock, token)) ?? -Infinity) >= at) continue;
      const row: HeldRow = {
        id: `${address} ${String(token)} ${place(process)}`,
        key,
        instance,
        mode,
        limit,
        name: '',
        label: label ?? '',
        token,
        holder: place(process),
        heldFor: since === null ? null : Math.max(0, now - since),
        left,
        leftIsBound: remainingIsBound,
        waiting,
        trouble: '',
      };
      rows.push({ row, at });
    }
  }
  return rows;
}

/** Of each lock the tokens that processes tell of, by client. What one holds in itself only is no hold of the store. */
function toldTokens(processes: readonly Process[]): ReadonlyMap<string, ReadonlyMap<string, Set<number>>> {
  const told = new Map<string, Map<string, Set<number>>>();
  for (const { client, instance, held } of processes) {
    for (const { key, token, degraded } of held) {
      if (degraded) continue;
      const address = addressId({ key, instance });
      const byClient = told.get(address) ?? new Map<string, Set<number>>();
      told.set(address, byClient.set(client, (byClient.get(client) ?? new Set()).add(token)));
    }
  }
  return told;
}

/**
 * The holders of which no process tells. Of a process that hands its lock on to its own callers the store knows the first
 * token, and the process tells the last.
 */
function untold(
  holders: readonly ShownHolder[],
  told: ReadonlyMap<string, ReadonlySet<number>> | undefined,
): readonly ShownHolder[] {
  if (told === undefined) return holders;
  const tokens = new Set([...told.values()].flatMap((each) => [...each]));
  const others = holders.filter(({ token }) => token === null || !tokens.has(token));
  const known = new Set(holders.map(({ token }) => token));
  const handedOn = new Map(
    [...told].map(([client, own]) => [client, [...own].filter((token) => !known.has(token))]),
  );
  return others.filter(({ token, client }) => {
    const own = handedOn.get(client ?? '') ?? [];
    const later = own.findIndex((other) => token !== null && other > token);
    if (later < 0) return true;
    own.splice(later, 1);
    return false;
  });
}

/** The holds whose end a process told of, and when: by lock and token. */
function toldEnds(processes: readonly Process[]): ReadonlyMap<string, number> {
  const ends = new Map<string, number>();
  for (const { instance, recent } of processes) {
    for (const { type, key, token, at } of recent) {
      if (type === 'released' || type === 'lost') ends.set(holdId({ key, instance }, token), at);
    }
  }
  return ends;
}
