import type { LockAddress, Overview, ShownHold } from '../wire.js';
import { place, sharing } from './format.js';
import { addressId, holdId, isFollowedBy, type HeldRow } from './held-row.js';
import { listedRows, type ListedLock } from './listed-rows.js';

/** A key that is waited for. */
export interface WaitRow extends LockAddress {
  readonly id: string;
  readonly callers: number;
  readonly longest: number;
  readonly total: number;
  /** Of how many processes. */
  readonly processes: number;
}

export function waitRows({ processes }: Overview): readonly WaitRow[] {
  const rows = new Map<string, WaitRow>();
  for (const { instance, busiest, age } of processes) {
    for (const { key, callers, longest, total } of busiest) {
      const id = addressId({ key, instance });
      const known = rows.get(id);
      rows.set(id, {
        id,
        key,
        instance,
        callers: callers + (known?.callers ?? 0),
        longest: Math.max(longest + age, known?.longest ?? 0),
        total: total + (known?.total ?? 0),
        processes: 1 + (known?.processes ?? 0),
      });
    }
  }
  return [...rows.values()];
}

/** For how long a process that lives may go on telling of a hold that was broken, ms. */
const OUTDATED = 15_000;

/**
 * What the processes tell of, and then what else the store was asked for.
 *
 * @param listed what the store had when it was asked
 * @param broken when holds were broken on this page, by their `holdId`
 */
export function heldRows(
  overview: Overview,
  waits: readonly WaitRow[],
  listed: ReadonlyMap<string, ListedLock>,
  broken: ReadonlyMap<string, number> = new Map(),
): readonly HeldRow[] {
  const { processes } = overview;
  const waiting = new Map(waits.map(({ id, callers }) => [id, callers]));
  const latest = latestHolds(processes);
  const isBroken = (address: LockAddress, token: number | null, at: number): boolean =>
    at < (broken.get(holdId(address, token)) ?? -Infinity) + OUTDATED;
  const rows: HeldRow[] = [];
  for (const { client, instance, host, pid, at, age, held } of processes) {
    for (const hold of held) {
      const { key, mode, limit, name, label, token, heldFor, remaining, renewalError, degraded } = hold;
      const address = addressId({ key, instance });
      if (hasEnded(hold, at, latest.get(address))) continue;
      if (!degraded && isBroken({ key, instance }, token, at)) continue;
      rows.push({
        id: `${client} ${String(token)} ${key}`,
        key,
        instance,
        mode,
        limit,
        name,
        label: label ?? '',
        token,
        holder: place({ host, pid }),
        heldFor: heldFor + age,
        left: Math.max(0, remaining - age),
        leftIsBound: false,
        waiting: waiting.get(address) ?? 0,
        trouble: degraded
          ? 'held in that process only'
          : renewalError === null
            ? ''
            : `not renewed: ${renewalError}`,
      });
    }
  }
  const others = listedRows(overview, listed, latest).filter(({ at, row }) => !isBroken(row, row.token, at));
  return [...rows, ...others.map(({ row }) => row)];
}

/** Of each lock the hold that began last, as far as processes have told. Those of one process only don't count. */
function latestHolds(processes: Overview['processes']): ReadonlyMap<string, ShownHold> {
  const latest = new Map<string, ShownHold>();
  for (const { instance, held } of processes) {
    for (const hold of held) {
      const address = addressId({ key: hold.key, instance });
      const other = latest.get(address);
      if (!hold.degraded && (other === undefined || hold.token > other.token)) latest.set(address, hold);
    }
  }
  return latest;
}

/**
 * Whether a process has not told yet that its hold is over: another one began since then that can't be beside it. Two that
 * are held at once by what both processes say are both shown.
 *
 * @param at when the process told of it
 */
function hasEnded(hold: ShownHold, at: number, latest: ShownHold | undefined): boolean {
  if (latest === undefined || hold.degraded || hold.token >= latest.token) return false;
  return isFollowedBy(hold.limit, at, latest);
}

/** Those that have all words of a text somewhere, whatever their case. */
export function filtered<R extends HeldRow | WaitRow>(rows: readonly R[], text: string): readonly R[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const all = [row.key, row.instance ?? '', ...('holder' in row ? textsOf(row) : [])]
      .join('\n')
      .toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** What the columns of a hold say in words. */
function textsOf({ holder, label, name, token, mode, limit }: HeldRow): readonly string[] {
  return [holder, label, name, token === null ? '' : String(token), sharing(mode, limit)];
}
