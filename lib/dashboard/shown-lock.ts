import type { LockHolder, LockInfo, LockWaiter } from '../model/lock-info.js';
import { finite } from './process-snapshot.js';
import type { ShownHolder, ShownLock, ShownWaiter } from './wire.js';

/** A lock as the store told of it. */
export function shownLock(lock: LockInfo, instance: string | null): ShownLock {
  const { key, mode, limit, holders, waiting, waiters } = lock;
  return {
    key,
    instance,
    mode,
    limit: finite(limit),
    holders: holders.map(shownHolder),
    waiting,
    waiters: waiters.map(shownWaiter),
  };
}

function shownHolder(holder: LockHolder): ShownHolder {
  const { owner, token, acquiredAt, remaining, remainingIsBound, label, process } = holder;
  return {
    token: token ?? null,
    since: acquiredAt ?? null,
    remaining: finite(remaining),
    remainingIsBound,
    label: label ?? null,
    process: process ?? null,
    client: process === undefined ? null : owner.slice(0, owner.indexOf(':')),
  };
}

function shownWaiter({ callers, mode, limit, label, process }: LockWaiter): ShownWaiter {
  return { callers, mode, limit: finite(limit), label: label ?? null, process: process ?? null };
}
