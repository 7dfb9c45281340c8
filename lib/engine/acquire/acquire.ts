import { inMs } from '../../common/durations.js';
import { LockUnsupportedError } from '../../model/lock.errors.js';
import type { ResolvedLockOptions } from '../../model/lock.options.js';
import type { LockStoreSession, MonotonicMs, OwnerId } from '../../stores/port/lock-store.js';
import type { Hold, HoldContext } from '../holds/hold.js';
import type { KnownHolder, LeaseLeft } from '../report/lock-reporter.js';
import type { KeyRunners } from './key-runner.js';
import { Deadline } from '../holds/deadline.js';
import { PendingAcquire } from './pending-acquire.js';
import { ownHold, reenter } from '../holds/reenter.js';
import { scopeOfCaller } from '../holds/scope.js';
import { ANSWER_GRACE } from '../machine/time-limits.js';
import { isFull, UnqueuedAcquire } from './try-acquire.js';

/** The parts of the engine that acquisitions use. */
export interface AcquireContext extends HoldContext {
  readonly clientId: string;
  readonly keys: KeyRunners;
  /** Callers that don't wait in a queue, until no request of theirs is pending. */
  readonly unqueued: Set<UnqueuedAcquire>;
  /** Those of them that keep trying after a failed first attempt. */
  readonly retrying: Set<UnqueuedAcquire>;
  /** By key: resolves when those of them whose callers have their outcome already have no request pending. */
  readonly leaving: Map<string, Promise<unknown>>;
  /** Those with a pending request, by its owner. */
  readonly unanswered: Map<OwnerId, UnqueuedAcquire>;
  /** Pending lookups of a key's holder: one for all callers of a key that time out together. */
  readonly holderLookups: Map<string, Promise<KnownHolder | undefined>>;
  /** Whether the session has connected, or has failed to. */
  readonly isStarted: boolean;
  /** Whether new calls are refused. */
  readonly isClosing: boolean;
  /** Whether `shutdownTimeout` has passed, so that no call may wait without limit. */
  readonly isOverdue: boolean;
  start(): Promise<void>;
  /** An owner id, used for one acquisition. */
  nextOwner(): OwnerId;
  /** What the store reported about a holder's lease. */
  leaseLeft(ms: number | undefined): LeaseLeft | undefined;
  /**
   * Removes an owner from the store, whatever its state; resolves when that is done or continues in the background.
   * Returns whether it is done.
   */
  withdraw(key: string, owner: OwnerId, inDoubt: boolean): Promise<boolean>;
}

/**
 * Acquires one lock, or throws: a hold of the calling code is re-entered; otherwise the caller waits in the queue of
 * the key.
 *
 * @param startedAt when the call began
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
  return acquireAnew(engine, new PendingAcquire(engine, key, options, startedAt, scope, now));
}

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
  }
  // Aborted at the moment when the re-entry it waited for became a fresh acquisition.
  options.signal?.throwIfAborted();
  const now = engine.clock.monotonic();
  return await acquireAnew(engine, new PendingAcquire(engine, key, options, startedAt, scopeOfCaller(), now));
}

function acquireAnew(engine: AcquireContext, caller: PendingAcquire): Promise<Hold> {
  if (engine.isClosing) throw engine.reporter.closed(caller.key);
  const { waitTime, retry, maxWaiting } = caller;
  const isOverdue = engine.isOverdue && waitTime === Infinity;
  const mayNotWait = isOverdue || waitTime === 0 || (maxWaiting !== Infinity && isFull(engine, caller));
  if (retry === undefined && !mayNotWait) engine.keys.join(caller);
  else new UnqueuedAcquire(engine, caller, isOverdue ? undefined : retry).start();
  return caller.promise;
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
