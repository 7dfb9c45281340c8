import type { LockService } from '../api/lock.service.js';
import type { HeldLock, LockStatus, LostLock, WaitingCall } from '../model/lock-status.js';
import { processOf } from '../engine/client-id.js';
import type {
  BusyKey,
  ProcessSnapshot,
  ShownEvent,
  ShownHealth,
  ShownHold,
  ShownLoss,
  ShownUse,
  ShownWait,
} from './wire.js';

/** The most holds, and the most waits, that a process tells of. */
const MOST_USES = 500;
const MOST_BUSY = 100;
/** The longest text of a snapshot, bytes: every reader gets those of all processes, and stores have limits. */
const LONGEST_TEXT = 400_000;

/** What a module instance of this process has to tell. Asks nobody. */
export function snapshotOf(locks: LockService, recent: readonly ShownEvent[]): ProcessSnapshot {
  const status = locks.status();
  const { host = '', pid = process.pid } = processOf(`${status.clientId}:0`) ?? {};
  const waiting = locks.waiting();
  return {
    version: 1,
    client: status.clientId,
    instance: status.instance ?? null,
    host,
    pid,
    at: Date.now(),
    health: healthOf(status),
    held: locks.held().slice(0, MOST_USES).map(shownHold),
    waiting: waiting.slice(0, MOST_USES).map(shownWait),
    busiest: busiestOf(waiting),
    lost: locks.lost().map(shownLoss),
    recent,
  };
}

/** As it is left for other processes: with fewer holds and waits where keys and labels are very long. */
export function textOf(snapshot: ProcessSnapshot): string {
  for (let most = MOST_USES; ; most = Math.floor(most / 2)) {
    const { held, waiting, busiest, lost, recent } = snapshot;
    const text = JSON.stringify({
      ...snapshot,
      held: held.slice(0, most),
      waiting: waiting.slice(0, most),
      busiest: busiest.slice(0, most),
      lost: lost.slice(0, most),
      recent: recent.slice(0, most),
    });
    if (Buffer.byteLength(text) <= LONGEST_TEXT || most === 0) return text;
  }
}

/** A snapshot that a process left; undefined for what another version may have written. */
export function parseSnapshot(text: string): ProcessSnapshot | undefined {
  try {
    const snapshot = JSON.parse(text) as Partial<ProcessSnapshot> | null;
    return snapshot?.version === 1 ? (snapshot as ProcessSnapshot) : undefined;
  } catch {
    return undefined;
  }
}

function shownUse({ key, name, mode, limit, label }: HeldLock | WaitingCall | LostLock): ShownUse {
  return { key, name, mode, limit: finite(limit), label: label ?? null };
}

function shownHold(hold: HeldLock): ShownHold {
  const { token, since, heldFor, remaining, leaseTime, renewalError, degraded } = hold;
  return {
    ...shownUse(hold),
    token,
    since,
    heldFor,
    remaining,
    leaseTime: leaseTime ?? null,
    renewalError: renewalError?.message ?? null,
    degraded,
  };
}

function shownWait(call: WaitingCall): ShownWait {
  const { since, waitedFor, waitTime } = call;
  return { ...shownUse(call), since, waitedFor, waitTime: finite(waitTime) };
}

function shownLoss(loss: LostLock): ShownLoss {
  const { at, token, reason, heldFor } = loss;
  return { ...shownUse(loss), at, token, reason, heldFor };
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

function healthOf(status: LockStatus): ShownHealth {
  const { store, leastRemaining, degraded, closing, holds, longestHold, waiters, longestWait } = status;
  const { renewalsFailing, watchdogTimeout, recentLosses } = status;
  const { connections } = store;
  return {
    store: store.name,
    storeVersion: store.description ?? null,
    reachable: store.reachable ?? null,
    reachableSince: store.since ?? null,
    error: store.error?.message ?? null,
    connections: connections?.length ?? null,
    openConnections: connections?.filter(({ isOpen }) => isOpen).length ?? null,
    degraded,
    closing,
    holds,
    longestHold,
    waiters,
    longestWait,
    renewalsFailing,
    leastRemaining: leastRemaining ?? null,
    watchdogTimeout,
    recentLosses,
  };
}

/** JSON has no `Infinity`. */
export function finite(number: number): number | null {
  return number === Infinity ? null : number;
}
