import type { LockHandle, LockOptions, ReleaseOutcome } from '../../lib/index.js';
import type { LockApp } from './lock-app.js';
import { next } from './until.js';

/** Long enough for a busy machine. */
export const patient = { waitTime: 15_000 };

export interface LineUp {
  readonly first: LockHandle;
  readonly waits: Promise<LockHandle>[];
}

/** A holder, and waiters of the same process (P20). */
export async function lineUp(
  app: LockApp,
  key: string,
  waiters: readonly LockOptions[] = [{}],
): Promise<LineUp> {
  const first = await app.locks.acquire(key, patient);
  // When the first waiter calls, a renewal reserves tokens for the waiters.
  const reserved = next(app.locks.events, (event) => event.type === 'renewed' && event.key === key);
  const waits = waiters.map((options) => app.locks.acquire(key, { ...patient, ...options }));
  // Tests may look at rejections later.
  for (const wait of waits) wait.catch(() => undefined);
  await reserved;
  return { first, waits };
}

export interface HandedOver {
  readonly key: string;
  readonly first: LockHandle;
  readonly second: LockHandle;
  /** Waiters behind the second holder. */
  readonly rest: readonly Promise<LockHandle>[];
  readonly outcome: ReleaseOutcome;
}

export interface HandOverSettings {
  readonly newKey: () => string;
  readonly waiters?: readonly LockOptions[];
  /** Runs while the waiters wait. */
  readonly meanwhile?: (first: LockHandle) => unknown;
}

/**
 * A hold that was handed over without the store. On a busy machine that may take longer than a process keeps a lock from
 * others, so it is repeated with another key until another application sees that the store was not asked.
 */
export async function handOver(
  app: LockApp,
  other: LockApp,
  { newKey, waiters = [{}], meanwhile }: HandOverSettings,
): Promise<HandedOver> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const key = newKey();
    const { first, waits } = await lineUp(app, key, waiters);
    await meanwhile?.(first);
    const releasing = first.release();
    const [wait, ...rest] = waits;
    if (wait === undefined) throw new Error('no caller waits');
    const second = await wait;
    const outcome = await releasing;
    if (await isOnLeaseOf(first, other)) return { key, first, second, rest, outcome };
    await second.release();
    // Later waiters may have given up.
    for (const waiting of rest) await waiting.then((handle) => handle.release()).catch(() => undefined);
  }
  throw new Error('the lock was never handed over inside the process');
}

/** Whether the lock in the store still is the one granted for this hold. */
export async function isOnLeaseOf(hold: LockHandle, other: LockApp): Promise<boolean> {
  return (await other.admin.inspect(hold.key))?.token === hold.token;
}
