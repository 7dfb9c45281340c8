import type { LockAddress, Overview, ShownHold, ShownLock } from '../wire.js';
import { place } from './format.js';

/** A hold, as the table shows it. */
export interface HeldRow extends LockAddress {
  readonly id: string;
  readonly mode: 'exclusive' | 'shared';
  readonly limit: number | null;
  readonly name: string;
  readonly label: string;
  readonly token: number | null;
  readonly holder: string;
  /** ms; `null` where it is not known. */
  readonly heldFor: number | null;
  /** ms of the lease; `null`: without end. */
  readonly left: number | null;
  readonly waiting: number;
  /** What is wrong with it. */
  readonly trouble: string;
}

/** A key that is waited for. */
export interface WaitRow extends LockAddress {
  readonly id: string;
  readonly callers: number;
  readonly longest: number;
  readonly total: number;
  /** Of how many processes. */
  readonly processes: number;
}

/** Keys of different module instances are different locks. */
export function addressId({ key, instance }: LockAddress): string {
  return `${instance ?? ''}\n${key}`;
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

/** What the processes tell of, and then what else the store was asked for. */
export function heldRows(
  { processes, now }: Overview,
  waits: readonly WaitRow[],
  listed: ReadonlyMap<string, ShownLock>,
): readonly HeldRow[] {
  const waiting = new Map(waits.map(({ id, callers }) => [id, callers]));
  const latest = latestHolds(processes);
  const known = new Set<string>();
  const rows: HeldRow[] = [];
  for (const { client, instance, host, pid, at, age, held } of processes) {
    for (const hold of held) {
      const { key, mode, limit, name, label, token, heldFor, remaining, renewalError, degraded } = hold;
      const address = addressId({ key, instance });
      known.add(address);
      if (hasEnded(hold, at, latest.get(address))) continue;
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
        waiting: waiting.get(address) ?? 0,
        trouble: degraded
          ? 'held in that process only'
          : renewalError === null
            ? ''
            : `not renewed: ${renewalError}`,
      });
    }
  }
  for (const [address, { key, instance, mode, limit, holders, waiting: callers }] of listed) {
    if (known.has(address)) continue;
    for (const { token, since, remaining, label, process } of holders) {
      rows.push({
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
        left: remaining,
        waiting: callers,
        trouble: '',
      });
    }
  }
  return rows;
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
  return (hold.limit === 1 || latest.limit === 1) && latest.since >= at;
}

/** Those that have all words of a text somewhere, whatever their case. */
export function filtered<R extends HeldRow | WaitRow>(rows: readonly R[], text: string): readonly R[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const parts = 'holder' in row ? [row.key, row.holder, row.label, row.name] : [row.key];
    const all = [...parts, row.instance ?? ''].join('\n').toLowerCase();
    return words.every((word) => all.includes(word));
  });
}
