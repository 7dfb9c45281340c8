import { inMs } from '../common/durations.js';
import { LockUnsupportedError } from '../model/lock.errors.js';
import type { ResolvedLockOptions } from '../model/lock.options.js';
import type { LockStoreSession, MonotonicMs } from '../stores/port/lock-store.js';
import { Hold } from './hold.js';
import type { Lines } from './line.js';
import { ownHold, reenter } from './reentry.js';
import { scopeOfCaller } from './scope.js';
import { ANSWER_GRACE } from './time-limits.js';
import { Tries, type TryContext } from './tries.js';
import { Wait } from './wait.js';

/** The parts of the engine that calls use. */
export interface AcquireContext extends TryContext {
  readonly lines: Lines;
  /** Whether the session has connected, or has failed to. */
  readonly isStarted: boolean;
  start(): Promise<void>;
}

/**
 * Acquires one lock, or throws: a hold of the calling code is re-entered; otherwise the call joins the line of the key.
 *
 * @param startedAt when the call began
 * @param now when it requests this lock, if it requests several one after the other
 */
export function acquire(
  engine: AcquireContext,
  key: string,
  options: ResolvedLockOptions,
  startedAt: MonotonicMs,
  now = startedAt,
): Promise<Hold> {
  options.signal?.throwIfAborted();
  const scope = scopeOfCaller();
  // The fast path of nearly all callers: they hold nothing, and the store has been started.
  if (!engine.isStarted || scope !== undefined) return acquireInScope(engine, key, options, startedAt);
  checkSupported(engine.session, options);
  return acquireAnew(engine, new Hold(engine, key, options, startedAt, scope, now));
}

/** The same for code that may own a hold of the key, or before the store has been started. */
async function acquireInScope(
  engine: AcquireContext,
  key: string,
  options: ResolvedLockOptions,
  startedAt: MonotonicMs,
): Promise<Hold> {
  if (!engine.isStarted) await whenStarted(engine, key, options, startedAt);
  checkSupported(engine.session, options);
  for (;;) {
    const outer = options.reentrant ? ownHold(engine, key) : undefined;
    if (outer === undefined) break;
    const inner = await reenter(engine, outer, options, startedAt);
    inner?.keepFor(options.holdAtLeast);
    if (inner !== undefined) return inner;
    // The hold has ended meanwhile: perhaps there is another one around it.
  }
  // Aborted at the moment when the re-entry it waited for became a fresh acquisition.
  options.signal?.throwIfAborted();
  const now = engine.clock.monotonic();
  return await acquireAnew(engine, new Hold(engine, key, options, startedAt, scopeOfCaller(), now));
}

function acquireAnew(engine: AcquireContext, hold: Hold): Promise<Hold> {
  if (engine.isClosing) throw engine.reporter.closed(hold.key);
  const line = engine.lines.open(hold.key);
  const { waitTime, maxWaiting, options } = hold;
  const isOverdue = engine.isShutdownOverdue && waitTime === Infinity;
  const mustNotWait =
    isOverdue || waitTime === 0 || (maxWaiting !== Infinity && line.countWaiting >= maxWaiting);
  if (options.retry === undefined && !mustNotWait) line.join(hold);
  else new Tries(engine, line, hold, isOverdue ? undefined : options.retry).start();
  return hold.promise;
}

/**
 * Resolves when the session has connected or failed to; rejects if the call's time or signal ends first. The
 * single attempt of `waitTime: 0` has no time limit.
 */
export async function whenStarted(
  engine: AcquireContext,
  key: string,
  options: ResolvedLockOptions,
  startedAt: MonotonicMs,
): Promise<void> {
  const { waitTime, signal } = options;
  const limits = { signal, waitTime: waitTime === 0 ? Infinity : waitTime + ANSWER_GRACE };
  const wait = new Wait<void>(engine.timers, startedAt, limits, (why) => {
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

/** @throws LockUnsupportedError if the store can't carry out a call with these options; sends nothing */
export function checkSupported(session: LockStoreSession, options: ResolvedLockOptions): void {
  const { holdAtLeast } = options;
  const tooLong = holdAtLeast > 0 ? session.whyTooLong?.(holdAtLeast) : undefined;
  if (tooLong !== undefined) {
    throw new LockUnsupportedError(`holdAtLeast (${inMs(holdAtLeast)}) is too long: ${tooLong}.`);
  }
  const why = session.whyUnsupported?.(options);
  if (why !== undefined) throw new LockUnsupportedError(why);
}
