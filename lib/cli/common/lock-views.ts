import { shownDuration } from '../../common/durations.js';
import type { LockHolder, LockInfo, LockProcess, LockWaiter } from '../../model/lock-info.js';
import { printable } from './output.js';

/**
 * A lock as JSON; `null` for a free one. In a lock `null` stands for an unlimited number, such as a lease without end or the
 * number of readers.
 */
export function lockDocument(lock: LockInfo | null, now: number): object | null {
  if (lock === null) return null;
  const { key, mode, limit, permits = null, holders, waiters, waiting } = lock;
  return {
    key,
    mode,
    limit: finite(limit),
    permits,
    holders: holders.map((holder) => holderDocument(holder, now)),
    waiting,
    waiters: waiters.map((waiter) => ({
      callers: waiter.callers,
      mode: waiter.mode,
      limit: finite(waiter.limit),
      permits: waiter.permits,
      label: waiter.label ?? null,
      ...processDocument(waiter.process),
    })),
  };
}

function holderDocument(holder: LockHolder, now: number): object {
  const { token, acquiredAt, remaining, remainingIsBound, permits, label, owner } = holder;
  return {
    token: token ?? null,
    ...processDocument(holder.process),
    label: label ?? null,
    since: acquiredAt === undefined ? null : new Date(acquiredAt).toISOString(),
    heldFor: heldFor(holder, now) ?? null,
    remaining: finite(remaining),
    remainingIsBound,
    permits,
    owner,
  };
}

function processDocument(process: LockProcess | undefined): object {
  return { host: process?.host ?? null, pid: process?.pid ?? null };
}

function finite(number: number): number | null {
  return Number.isFinite(number) ? Math.round(number) : null;
}

/** ms since the hold began. Not exact: it compares the store's clock with the local one. */
function heldFor({ acquiredAt }: Pick<LockHolder, 'acquiredAt'>, now: number): number | undefined {
  return acquiredAt === undefined ? undefined : Math.max(0, Math.round(now - acquiredAt));
}

export const TABLE_HEAD = ['KEY', 'MODE', 'HELD BY', 'LABEL', 'TOKEN', 'HELD FOR', 'LEASE LEFT', 'WAITING'];

/** A lock as a row below {@link TABLE_HEAD}. */
export function tableRow(lock: LockInfo, now: number): string[] {
  const { key, holders, label, token, waiting } = lock;
  const others = holders.length > 1 ? ` and ${holders.length - 1} more` : '';
  return [
    printable(key),
    sharing(lock),
    processText(lock.process) + others,
    printable(label ?? '-'),
    String(token ?? '-'),
    age(lock, now),
    leaseLeft(lock),
    String(waiting),
  ];
}

/** A lock with all holders and waiters. */
export function lockLines(lock: LockInfo, now: number): string[] {
  const { key, holders, waiters, waiting } = lock;
  return [
    `${printable(key)} is held (${sharing(lock)}); ${waiting === 0 ? 'no waiters' : `${waiting} waiting`}`,
    ...holderLines(holders, now),
    ...waiters.map((waiter) => `  waits    ${waiterText(waiter)}`),
  ];
}

export function holderLines(holders: readonly LockHolder[], now: number): string[] {
  return holders.map((holder) => `  held by  ${holderText(holder, now)}`);
}

/** A hold, such as `web-1 pid 4711 ("import"), token 17, for 12.3 s, lease ends in 25.0 s`. */
export function holderText(holder: LockHolder, now: number): string {
  const { token, remaining, permits } = holder;
  const lease = remaining === Infinity ? 'a lease without end' : `lease ends in ${leaseLeft(holder)}`;
  return [
    processText(holder.process) + labelText(holder.label),
    ...(permits === 1 ? [] : [`${permits} permits`]),
    token === undefined ? 'no token' : `token ${token}`,
    `for ${age(holder, now)}`,
    lease,
  ].join(', ');
}

/** `25.0 s`, or `≤ 30.0 s` for an upper bound. */
function leaseLeft(holder: Pick<LockHolder, 'remaining' | 'remainingIsBound'>): string {
  return `${holder.remainingIsBound ? '≤ ' : ''}${shownDuration(holder.remaining)}`;
}

function waiterText({ callers, mode, limit, permits, label, process }: LockWaiter): string {
  const count = callers === 1 ? '' : `, ${callers} callers`;
  const use = permits === 1 ? sharing({ mode, limit }) : `${permits} permits of ${limit}`;
  return `${processText(process)}${labelText(label)}, ${use}${count}`;
}

function age(holder: Pick<LockHolder, 'acquiredAt'>, now: number): string {
  const ms = heldFor(holder, now);
  return ms === undefined ? 'an unknown time' : shownDuration(ms);
}

function sharing({ mode, limit, permits }: Pick<LockInfo, 'mode' | 'limit'> & Partial<LockInfo>): string {
  if (!Number.isFinite(limit) || limit === 1) return mode;
  return permits === undefined ? `limit ${limit}` : `limit ${limit}, ${permits.free} free`;
}

function processText(process: LockProcess | undefined): string {
  return process === undefined ? 'other software' : `${process.host} pid ${process.pid}`;
}

function labelText(label: string | undefined): string {
  return label === undefined ? '' : ` ("${printable(label)}")`;
}
