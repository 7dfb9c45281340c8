import { inMs } from '../common/durations.js';
import { LockUnsupportedError } from '../model/lock.errors.js';
import type { ResolvedLockOptions } from '../model/lock.options.js';
import type { LockStoreSession, MonotonicMs } from '../stores/port/lock-store.js';
import type { LockEngine } from './lock-engine.js';
import type { Hold } from './hold.js';
import { Deadline, PendingAcquire } from './pending-acquire.js';
import { ownHold, reenter } from './reenter.js';
import { scopeOfCaller } from './scope.js';
import { ANSWER_GRACE } from './key-machine/time-limits.js';
import { isFull, UnqueuedAcquire } from './try-acquire.js';

/**
 * Acquires one lock, or throws: a hold of the calling code is re-entered; otherwise the caller waits in the queue of
 * the key.
 *
 * @param startedAt when the call began
 */
export function acquire(
  engine: LockEngine,
  key: string,
  options: ResolvedLockOptions,
  startedAt: MonotonicMs,
  now = startedAt,
): Promise<Hold> {
  options.signal?.throwIfAborted();
  const scope = scopeOfCaller();
  // The fast path of nearly all callers: they hold nothing, and the store has been started.
  if (!engine.isStarted || scope !== undefined) return acquireInScope(engine, key, options, startedAt);
  checkMinimumHold(engine.session, options.holdAtLeast);
  return acquireAnew(engine, new PendingAcquire(engine, key, options, startedAt, scope, now));
}

async function acquireInScope(
  engine: LockEngine,
  key: string,
  options: ResolvedLockOptions,
  startedAt: MonotonicMs,
): Promise<Hold> {
  if (!engine.isStarted) await whenStarted(engine, key, options, startedAt);
  checkMinimumHold(engine.session, options.holdAtLeast);
  for (;;) {
    const outer = options.reentrant ? ownHold(engine, key) : undefined;
    if (outer === undefined) break;
    const inner = await reenter(engine, outer, options, startedAt);
    inner?.keepFor(options.holdAtLeast);
    if (inner !== undefined) return inner;
  }
  // Aborted at the moment when the re-entry it waited for became a fresh acquisition.
  options.signal?.throwIfAborted();
  const now = engine.clock.monotonic();
  return await acquireAnew(engine, new PendingAcquire(engine, key, options, startedAt, scopeOfCaller(), now));
}

function acquireAnew(engine: LockEngine, caller: PendingAcquire): Promise<Hold> {
  if (engine.isClosing) throw engine.reporter.closed(caller.key);
  const { waitTime, retry, maxWaiting } = caller;
  const isOverdue = engine.isOverdue && waitTime === Infinity;
  const mayNotWait = isOverdue || waitTime === 0 || (maxWaiting !== Infinity && isFull(engine, caller));
  if (retry === undefined && !mayNotWait) engine.keys.join(caller);
  else engine.track(new UnqueuedAcquire(engine, caller, isOverdue ? undefined : retry).run());
  return caller.promise;
}

/**
 * Resolves when the session has connected or failed to; rejects if the call's time or signal ends first. The
 * single attempt of `waitTime: 0` has no time limit.
 */
export async function whenStarted(
  engine: LockEngine,
  key: string,
  options: ResolvedLockOptions,
  startedAt: MonotonicMs,
): Promise<void> {
  const { waitTime, signal } = options;
  const limits = { signal, waitTime: waitTime === 0 ? Infinity : waitTime + ANSWER_GRACE };
  const wait = new Deadline<void>(engine, startedAt, limits, (why) => {
    const waitedFor = engine.clock.monotonic() - startedAt;
    const error =
      why === 'aborted'
        ? wait.abortReason
        : engine.reporter.unavailable({ ...options, key }, undefined, waitedFor);
    engine.reporter.refuse(wait, error);
  });
  void engine.start().then(() => {
    wait.succeed();
  });
  wait.begin();
  await wait.promise;
}

/** @throws LockUnsupportedError if the store can't keep a lock for that long after its process has ended; sends nothing */
export function checkMinimumHold(session: LockStoreSession, holdAtLeast: number): void {
  const why = holdAtLeast > 0 ? session.whyTooLong?.(holdAtLeast) : undefined;
  if (why !== undefined) {
    throw new LockUnsupportedError(`holdAtLeast (${inMs(holdAtLeast)}) is too long: ${why}.`);
  }
}
