import type { LockAdmin } from '../api/lock-admin.js';
import { processOf } from '../engine/report/client-id.js';
import type { LockInfo } from '../model/lock-info.js';
import type { HeldLock, LockStatus, LostLock, WaitingCall } from '../model/lock-status.js';
import type { LockEvent } from '../model/lock.events.js';
import type { BusyKey, ProcessSnapshot, ShownEvent, ShownHealth, ShownLock, ShownUse } from './wire.js';

/** The most holds in a snapshot. */
const MOST_HOLDS = 500;
const MOST_BUSY = 100;
/** Longest text of a snapshot, bytes: every reader receives those of all processes, and stores limit the size of a value. */
const LONGEST_TEXT = 400_000;

/** The current state of a module instance of this process. Sends no request. */
export function snapshotOf(admin: LockAdmin, recent: readonly ShownEvent[]): ProcessSnapshot {
  const status = admin.status();
  const { host = '', pid = process.pid } = processOf(`${status.clientId}:0`) ?? {};
  return {
    version: 1,
    client: status.clientId,
    instance: status.instance ?? null,
    host,
    pid,
    at: Date.now(),
    health: shownHealth(status),
    held: admin
      .held()
      .slice(0, MOST_HOLDS)
      .map((hold) => {
        const { token, since, heldFor, remaining, local } = hold;
        const renewalError = hold.renewalError?.message ?? null;
        return { ...shownUse(hold), token, since, heldFor, remaining, renewalError, local };
      }),
    busiest: busiestOf(admin.waiting()),
    lost: admin.lost().map((loss) => {
      const { at, token, reason, heldFor } = loss;
      return { ...shownUse(loss), at, token, reason, heldFor };
    }),
    recent,
  };
}

/** The text to publish, shortened if keys and labels are very long. */
export function textOf(snapshot: ProcessSnapshot): string {
  const { held, busiest, lost, recent } = snapshot;
  for (let most = MOST_HOLDS; ; most = Math.floor(most / 2)) {
    const text = JSON.stringify({
      ...snapshot,
      held: held.slice(0, most),
      busiest: busiest.slice(0, most),
      lost: lost.slice(0, most),
      recent: recent.slice(0, most),
    });
    if (Buffer.byteLength(text) <= LONGEST_TEXT || most === 0) return text;
  }
}

/** Parses a published snapshot; undefined if another version of this library has written it. */
export function parseSnapshot(text: string): ProcessSnapshot | undefined {
  try {
    const snapshot = JSON.parse(text) as Partial<ProcessSnapshot> | null;
    return snapshot?.version === 1 ? (snapshot as ProcessSnapshot) : undefined;
  } catch {
    return undefined;
  }
}

/** A lock as the store reports it. */
export function shownLock(lock: LockInfo, instance: string | null): ShownLock {
  const { key, mode, limit, permits = null, holders, waiting, waiters } = lock;
  return {
    key,
    instance,
    mode,
    limit: finite(limit),
    permits,
    holders: holders.map(
      ({
        owner,
        token,
        acquiredAt,
        remaining,
        remainingIsBound,
        permits: taken,
        label,
        process: holder,
      }) => ({
        token: token ?? null,
        since: acquiredAt ?? null,
        remaining: finite(remaining),
        remainingIsBound,
        permits: taken,
        label: label ?? null,
        process: holder ?? null,
        client: holder === undefined ? null : owner.slice(0, owner.indexOf(':')),
      }),
    ),
    waiting,
    waiters: waiters.map((waiter) => ({
      callers: waiter.callers,
      mode: waiter.mode,
      limit: finite(waiter.limit),
      permits: waiter.permits,
      label: waiter.label ?? null,
      process: waiter.process ?? null,
    })),
  };
}

/** Undefined for events that the page does not list: renewals and queue positions show as state. */
export function shownEvent(event: LockEvent): ShownEvent | undefined {
  switch (event.type) {
    case 'granted':
      return listed(event, event.token, event.waitedFor, null);
    case 'released':
      return listed(event, event.token, event.heldFor, null);
    case 'lost':
      return listed(event, event.token, event.heldFor, event.reason);
    case 'timeout':
    case 'skipped':
    case 'aborted':
      return listed(event, null, event.waitedFor, null);
    case 'broken':
      return listed(event, null, null, event.by ?? null);
    case 'renewal-failed':
      return listed(event, event.token, null, event.error.message);
    case 'unavailable':
      // Without a key, it concerns the whole store.
      return event.key === undefined ? undefined : listed(event, null, null, null);
    case 'queue-full':
      return listed(event, null, null, null);
    default:
      return undefined;
  }
}

function listed(
  { type, key, at, label }: Exclude<LockEvent, { readonly key?: undefined }>,
  token: number | null,
  lasted: number | null,
  detail: string | null,
): ShownEvent {
  return { type, key, at, label: label ?? null, token, lasted, detail };
}

function shownUse({ key, operation, mode, limit, permits, label }: HeldLock | LostLock): ShownUse {
  return { key, operation, mode, limit: finite(limit), permits, label: label ?? null };
}

function busiestOf(waiting: readonly WaitingCall[]): readonly BusyKey[] {
  const keys = new Map<string, BusyKey>();
  for (const { key, waitedFor } of waiting) {
    const { callers, longest, total } = keys.get(key) ?? { callers: 0, longest: 0, total: 0 };
    keys.set(key, {
      key,
      callers: callers + 1,
      longest: Math.max(longest, waitedFor),
      total: total + waitedFor,
    });
  }
  return [...keys.values()].sort((one, other) => other.total - one.total).slice(0, MOST_BUSY);
}

function shownHealth(status: LockStatus): ShownHealth {
  const { store, local, closing, holds, longestHold, waiters, longestWait } = status;
  const { renewalsFailing, recentLosses } = status;
  const { connections } = store;
  return {
    store: store.name,
    storeVersion: store.description ?? null,
    reachable: store.reachable ?? null,
    error: store.error?.message ?? null,
    connections: connections?.length ?? null,
    openConnections: connections?.filter(({ isOpen }) => isOpen).length ?? null,
    local,
    closing,
    holds,
    longestHold,
    waiters,
    longestWait,
    renewalsFailing,
    recentLosses,
  };
}

/** JSON has no `Infinity`. */
function finite(number: number): number | null {
  return number === Infinity ? null : number;
}
