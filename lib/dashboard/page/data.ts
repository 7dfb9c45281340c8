/** Data derived from overviews and the list of the store. Without DOM, so that unit tests run in Node. */
import {
  laterTokens,
  type LockAddress,
  type Overview,
  type ShownEvent,
  type ShownHold,
  type ShownHolder,
  type ShownList,
  type ShownLock,
} from '../wire.js';
import { hostAndPid, sharing } from './format.js';

type Process = Overview['processes'][number];

/** A row of the table of held locks. */
export interface HeldRow extends LockAddress, Pick<ShownHold, 'mode' | 'limit' | 'permits' | 'operation'> {
  readonly id: string;
  readonly label: string;
  readonly token: number | null;
  readonly holder: string;
  /** ms; `null` if unknown. */
  readonly heldFor: number | null;
  /** Rest of the lease, ms; `null`: no end. */
  readonly left: number | null;
  /** Whether `left` is only an upper bound. */
  readonly leftIsBound: boolean;
  readonly waiting: number;
  /** The problem of the hold; empty if there is none. */
  readonly trouble: string;
}

/** A row of the table of waits: a key with waiting calls. */
export interface WaitRow extends LockAddress {
  readonly id: string;
  readonly callers: number;
  readonly longest: number;
  readonly total: number;
  /** The number of processes with waiting calls. */
  readonly processes: number;
}

/** A lock as the store reported it at a time, ms since the epoch. */
export interface ListedLock extends ShownLock {
  readonly at: number;
}

/** The same key in different module instances is a different lock. */
export function addressId({ key, instance }: LockAddress): string {
  return `${instance ?? ''}\n${key}`;
}

export function holdId(address: LockAddress, token: number | null): string {
  return `${addressId(address)}\n${String(token)}`;
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
        total: total + callers * age + (known?.total ?? 0),
        processes: 1 + (known?.processes ?? 0),
      });
    }
  }
  return [...rows.values()];
}

/** The longest hold or wait of all processes by now: those of a snapshot have gone on since, as the tables show them. */
export function longest(
  { processes }: Pick<Overview, 'processes'>,
  kind: 'longestHold' | 'longestWait',
): number {
  return Math.max(0, ...processes.map(({ age, status }) => (status[kind] > 0 ? status[kind] + age : 0)));
}

/** How long a snapshot of a live process may still contain a hold that was broken, ms. */
const OUTDATED = 15_000;

/**
 * The holds that processes report, followed by those that are only in the store.
 *
 * @param listed the last list of the store
 * @param broken when holds were broken on this page, by their `holdId`
 */
export function heldRows(
  overview: Overview,
  waits: readonly WaitRow[],
  listed: ReadonlyMap<string, ListedLock>,
  broken: ReadonlyMap<string, number> = new Map(),
): readonly HeldRow[] {
  const waiting = new Map(waits.map(({ id, callers }) => [id, callers]));
  const reported = reportedHolds(overview.processes);
  const isBroken = (address: LockAddress, token: number | null, at: number): boolean =>
    at < (broken.get(holdId(address, token)) ?? -Infinity) + OUTDATED;
  const rows: HeldRow[] = [];
  for (const { client, instance, host, pid, at, age, held } of overview.processes) {
    for (const hold of held) {
      const { key, token, renewalError, local } = hold;
      const address = addressId({ key, instance });
      // Local holds are not in the store, where later holds exclude them.
      if (!local && isFollowedBy(hold, at, reported.get(address)?.latest)) continue;
      if (!local && isBroken({ key, instance }, token, at)) continue;
      rows.push({
        ...hold,
        id: `${client} ${String(token)} ${key}`,
        instance,
        label: hold.label ?? '',
        holder: hostAndPid({ host, pid }),
        heldFor: hold.heldFor + age,
        left: Math.max(0, hold.remaining - age),
        leftIsBound: false,
        waiting: waiting.get(address) ?? 0,
        trouble: local
          ? 'held in that process only'
          : renewalError === null
            ? ''
            : `not renewed: ${renewalError.message}`,
      });
    }
  }
  return [...rows, ...listedRows(overview, listed, reported, isBroken)];
}

/** The holds of one lock that processes report. Without local holds, which are not in the store. */
interface ReportedHolds {
  readonly latest: ShownHold;
  /** Tokens by client. */
  readonly tokens: Map<string, Set<number>>;
}

function reportedHolds(processes: readonly Process[]): ReadonlyMap<string, ReportedHolds> {
  const reported = new Map<string, ReportedHolds>();
  for (const { client, instance, held } of processes) {
    for (const hold of held) {
      if (hold.local) continue;
      const address = addressId({ key: hold.key, instance });
      const { latest, tokens } = reported.get(address) ?? {
        latest: hold,
        tokens: new Map<string, Set<number>>(),
      };
      tokens.set(client, (tokens.get(client) ?? new Set()).add(hold.token));
      reported.set(address, { latest: hold.token > latest.token ? hold : latest, tokens });
    }
  }
  return reported;
}

/**
 * Whether a hold that was seen at a time has ended, because the latest hold of its lock excludes it and began later.
 * Two holds that both snapshots report for the same time are both shown.
 */
function isFollowedBy(
  { token, limit }: { readonly token: number | null; readonly limit: number | null },
  at: number,
  latest: ShownHold | undefined,
): boolean {
  if (latest === undefined || (token ?? 0) >= latest.token) return false;
  return (limit === 1 || latest.limit === 1) && latest.since >= at;
}

/**
 * The listed holds that no process reports, except ended ones: their lease has expired, a later hold excludes them,
 * their process reported their end, or they were broken.
 */
function listedRows(
  { processes, now }: Overview,
  listed: ReadonlyMap<string, ListedLock>,
  reported: ReadonlyMap<string, ReportedHolds>,
  isBroken: (address: LockAddress, token: number | null, at: number) => boolean,
): readonly HeldRow[] {
  const ends = reportedEnds(processes);
  const rows: HeldRow[] = [];
  for (const [address, lock] of listed) {
    const { key, instance, mode, limit, at, waiting } = lock;
    const { latest, tokens } = reported.get(address) ?? {};
    for (const holder of unreported(lock.holders, tokens)) {
      const { token, acquiredAt, remaining, process } = holder;
      const left = remaining === null ? null : remaining - Math.max(0, now - at);
      if (left !== null && left <= 0) continue;
      if (isFollowedBy({ token, limit }, at, latest)) continue;
      if ((ends.get(holdId(lock, token)) ?? -Infinity) >= at) continue;
      if (isBroken(lock, token, at)) continue;
      rows.push({
        ...holder,
        id: `${address} ${String(token)} ${hostAndPid(process)}`,
        key,
        instance,
        mode,
        limit,
        operation: '',
        label: holder.label ?? '',
        holder: hostAndPid(process),
        heldFor: acquiredAt === null ? null : Math.max(0, now - acquiredAt),
        left,
        leftIsBound: holder.remainingIsBound,
        waiting,
        trouble: '',
      });
    }
  }
  return rows;
}

/**
 * The holders that no process reports. When a process hands its lock over to its own callers, the store has the first
 * token and the process reports the last, so each later token of a client accounts for one of its holders.
 */
function unreported(
  holders: readonly ShownHolder[],
  reported: ReadonlyMap<string, ReadonlySet<number>> | undefined,
): readonly ShownHolder[] {
  if (reported === undefined) return holders;
  const tokens = new Set([...reported.values()].flatMap((each) => [...each]));
  const others = holders.filter(({ token }) => token === null || !tokens.has(token));
  const stored = new Set(holders.map(({ token }) => token));
  const handedOver = new Map(
    [...reported].map(([client, own]) => [client, [...own].filter((token) => !stored.has(token))]),
  );
  return others.filter(({ token, owner }) => {
    const own = handedOver.get(clientOf(owner)) ?? [];
    const later = own.findIndex((other) => token !== null && other > token);
    if (later < 0) return true;
    own.splice(later, 1);
    return false;
  });
}

/** The client id in an owner of a hold. */
function clientOf(owner: string): string {
  return owner.slice(0, owner.indexOf(':'));
}

/** When processes reported the end of a hold, by `holdId`. */
function reportedEnds(processes: readonly Process[]): ReadonlyMap<string, number> {
  const ends = new Map<string, number>();
  for (const { instance, recent } of processes) {
    for (const event of recent) {
      if (event.type !== 'released' && event.type !== 'lost') continue;
      ends.set(holdId({ key: event.key, instance }, event.token), event.at);
    }
  }
  return ends;
}

/** The rows that contain all words of a text, case-insensitively. */
export function filtered<R extends HeldRow | WaitRow>(rows: readonly R[], text: string): readonly R[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const texts: unknown[] = [row.key, row.instance];
    if ('holder' in row) texts.push(row.holder, row.label, row.operation, row.token, sharing(row));
    // `join` omits null.
    const all = texts.join('\n').toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

interface Listing {
  readonly locks: ReadonlyMap<string, ListedLock>;
  /** Which module instances could not be listed, and why. */
  readonly failures: readonly string[];
}

/**
 * Lists the locks of module instances, page by page. Continues with the next instance after a failure: the process that
 * serves this page need not have all instances that other processes report.
 *
 * @param onProgress called with the number of locks so far
 */
export async function listAll(
  instances: readonly (string | null)[],
  read: (instance: string | null, cursor: string | null) => Promise<ShownList>,
  onProgress: (locks: number) => void,
): Promise<Listing> {
  const locks = new Map<string, ListedLock>();
  const failures: string[] = [];
  for (const instance of instances) {
    try {
      let cursor: string | null = null;
      do {
        const part: ShownList = await read(instance, cursor);
        for (const lock of part.locks) locks.set(addressId(lock), { ...lock, at: part.at });
        cursor = part.cursor;
        onProgress(locks.size);
      } while (cursor !== null);
    } catch (error) {
      const why = messageOf(error);
      failures.push(instance === null ? why : `Of the module instance ${instance}: ${why}`);
    }
  }
  return { locks, failures };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The events of one lock, newest first. */
export type History = ReadonlyMap<string, ShownEvent>;

const MOST_EVENTS = 100;

/** Adds the events of a new overview to a lock's history. The same key in another module instance is another lock. */
export function withNews(history: History, address: LockAddress, { processes }: Overview): History {
  const seen = new Map(history);
  for (const { client, instance, recent } of processes) {
    if (instance !== address.instance) continue;
    for (const event of recent) {
      if (event.key !== address.key) continue;
      seen.set(`${client} ${JSON.stringify(event)}`, event);
    }
  }
  return new Map([...seen].sort(([, one], [, other]) => other.at - one.at).slice(0, MOST_EVENTS));
}

/** The current token of a holder. */
export function currentToken(
  { token, owner }: ShownHolder,
  { key, limit }: ShownLock,
  { processes }: Overview,
): number | null {
  if (token === null || limit !== 1) return token;
  return Math.max(token, ...laterTokens(owner, token, key, processes));
}
