import type { LockAdmin } from '../api/lock-admin.js';
import { processOf } from '../engine/report/client-id.js';
import type { WaitingCall } from '../model/lock-status.js';
import type { LockEvent } from '../model/lock.events.js';
import type { BusyKey, ListedEvent, ProcessSnapshot } from './wire.js';

/** The most holds in a snapshot. */
const MOST_HOLDS = 500;
const MOST_BUSY = 100;
/** Longest text of a snapshot, bytes: every reader receives those of all processes, and stores limit the size of a value. */
const LONGEST_TEXT = 400_000;

/** Types of events that the page does not list, see {@link ListedEvent}. */
const UNLISTED: ReadonlySet<string> = new Set(['queued', 'renewed', 'closed']);

export function isListed(event: LockEvent): event is ListedEvent {
  return event.key !== undefined && !UNLISTED.has(event.type);
}

/** The JSON that the type `Json` describes. */
export function toJson(data: unknown): string {
  return JSON.stringify(data, (_name, value: unknown) =>
    value instanceof Error ? { message: value.message } : (value ?? null),
  );
}

/** The current state of a module instance of this process. Sends no request. */
export function snapshotOf(admin: LockAdmin, recent: readonly ListedEvent[]): ProcessSnapshot {
  const status = admin.status();
  const { clientId, instance } = status;
  const { host = '', pid = process.pid } = processOf(`${clientId}:0`) ?? {};
  const snapshot = {
    version: 1,
    client: clientId,
    instance,
    host,
    pid,
    at: Date.now(),
    status,
    held: admin.held().slice(0, MOST_HOLDS),
    busiest: busiestOf(admin.waiting()),
    lost: admin.lost(),
    recent,
  };
  return JSON.parse(toJson(snapshot)) as ProcessSnapshot;
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
