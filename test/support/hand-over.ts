import type { LockHandle, LockOptions, ReleaseOutcome } from '../../lib/index.js';
import type { LockApp } from './lock-app.js';
import { elapse, next } from './until.js';

/** For as long as a busy machine may take. */
export const patient = { waitTime: 15_000 };

export interface LineUp {
  readonly first: LockHandle;
  readonly waits: Promise<LockHandle>[];
}

/** A holder and, behind it in the same process, callers to whom the lock may pass without the store (P20). They come `after` so many ms. */
export async function lineUp(
  app: LockApp,
  key: string,
  waiters: readonly LockOptions[] = [{}],
  { after = 0 }: { readonly after?: number } = {},
): Promise<LineUp> {
  const first = await app.locks.acquire(key, patient);
  if (after > 0) await elapse(after);
  // Tokens for those who follow are reserved by a renewal, when the first of them comes.
  const reserved = next(app.locks.events, (event) => event.type === 'renewed' && event.key === key);
  const waits = waiters.map((options) => app.locks.acquire(key, { ...patient, ...options }));
  // Whoever looks at them later must not be too late.
  for (const wait of waits) wait.catch(() => undefined);
  await reserved;
  return { first, waits };
}

export interface HandedOver {
  readonly key: string;
  readonly first: LockHandle;
  readonly second: LockHandle;
  /** Further callers, who wait behind the second. */
  readonly rest: readonly Promise<LockHandle>[];
  readonly outcome: ReleaseOutcome;
}

export interface HandOverSettings {
  readonly newKey: () => string;
  readonly waiters?: readonly LockOptions[];
  /** What the first holder does while the others wait. */
  readonly meanwhile?: (first: LockHandle) => unknown;
}

/**
 * A hold that was handed on without the store. A busy machine may take longer over it than a process keeps a lock from
 * others, so it is tried again with another key until another application sees that the store was not asked.
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
    if (wait === undefined) throw new Error('nobody waits');
    const second = await wait;
    const outcome = await releasing;
    if (await isOnLeaseOf(first, other)) return { key, first, second, rest, outcome };
    await second.release();
    // They may have given up meanwhile.
    for (const waiting of rest) await waiting.then((handle) => handle.release()).catch(() => undefined);
  }
  throw new Error('the lock was never handed on inside the process');
}

/** Whether the store still has the lock as it was granted for that hold. */
export async function isOnLeaseOf(hold: LockHandle, other: LockApp): Promise<boolean> {
  return (await other.locks.inspect(hold.key))?.token === hold.token;
}
