import { inMs } from '../common/durations.js';
import { LockOptionsError } from '../model/lock.errors.js';
import type { ResolvedLockOptions } from '../model/lock.options.js';
import type { LockStoreSession, MonotonicMs, OwnerId } from '../stores/port/lock-store.js';
import type { EngineContext } from './context.js';
import { Deadline } from './deadline.js';
import type { Hold } from './hold.js';
import type { KeyRunners } from './key-runner.js';
import { PendingAcquire } from './pending-acquire.js';
import { ownHold, reenter } from './reenter.js';
import { ONCE, RetryingAcquire } from './retrying-acquire.js';
import { scopeOfCaller } from './scope.js';
import { ANSWER_GRACE } from './time-limits.js';
import { tryOnce } from './try-acquire.js';

/**
 * Acquires one lock, or throws: a hold of the calling code is re-entered; otherwise the caller waits in line.
 *
 * @param startedAt when the call began
 */
export function acquire(
  context: AcquireContext,
  key: string,
  options: ResolvedLockOptions,
  startedAt: MonotonicMs,
  now = startedAt,
): Promise<Hold> {
  options.signal?.throwIfAborted();
  const { engine } = context;
  const scope = scopeOfCaller();
  // The short way of nearly all callers: they hold nothing, and the store has been started.
  if (!engine.isStarted || scope !== undefined) return acquireInScope(context, key, options, startedAt);
  checkMinimumHold(engine.session, options.holdAtLeast);
  return acquireAnew(context, new PendingAcquire(engine, key, options, startedAt, scope, now));
}

async function acquireInScope(
  context: AcquireContext,
  key: string,
  options: ResolvedLockOptions,
  startedAt: MonotonicMs,
): Promise<Hold> {
  const { engine } = context;
  if (!engine.isStarted) await whenStarted(engine, key, options, startedAt);
  checkMinimumHold(engine.session, options.holdAtLeast);
  for (let outer = ownHold(engine, key); outer !== undefined; outer = ownHold(engine, key)) {
    const inner = await reenter(engine, outer, options, startedAt);
    inner?.keepFor(options.holdAtLeast);
    if (inner !== undefined) return inner;
  }
  // Aborted in the moment in which the re-entry that it waited for became a fresh acquisition.
  options.signal?.throwIfAborted();
  const now = engine.clock.monotonic();
  return await acquireAnew(
    context,
    new PendingAcquire(engine, key, options, startedAt, scopeOfCaller(), now),
  );
}

function acquireAnew(context: AcquireContext, caller: PendingAcquire): Promise<Hold> {
  const { engine } = context;
  if (engine.isClosing) throw engine.reporter.closed(caller.key);
  const { waitTime, retry, maxWaiting } = caller;
  if (engine.isOverdue && waitTime === Infinity) engine.track(tryOnce(context, caller));
  else if (retry !== undefined) engine.track(new RetryingAcquire(context, caller, retry).run());
  else if (waitTime === 0) engine.track(tryOnce(context, caller));
  else if (maxWaiting !== Infinity && context.isFull(caller))
    engine.track(new RetryingAcquire(context, caller, ONCE).run());
  else context.keys.join(caller);
  return caller.promise;
}

/** A caller that retries instead of waiting in line. */
interface RetryingCaller {
  readonly caller: PendingAcquire;
  /** Whether its first try has failed. */
  readonly isWaiting: boolean;
  /** The application shuts down. */
  close(): void;
}

/** A single try for one key. */
export interface TriedLock {
  readonly caller: PendingAcquire;
  readonly owner: OwnerId;
  /** Whether its grant was broken by force before the answer arrived. */
  wasBroken: boolean;
  /** Whether the store has reported, before its answer, that others come first. */
  isHeldByOthers: boolean;
}

/** What all acquisitions share: the lines of all keys, and the callers that stand in none. */
export class AcquireContext {
  /** Tries that the store has not answered yet. */
  readonly unanswered = new Map<OwnerId, TriedLock>();
  readonly retrying = new Set<RetryingCaller>();
  /** How many callers of each key are between two tries. */
  private readonly waiting = new Map<string, number>();

  constructor(
    readonly engine: EngineContext,
    readonly keys: KeyRunners,
  ) {}

  /** How many callers of this process wait for a key, in line or between two tries. */
  countWaiting(key: string): number {
    return this.keys.waitingFor(key).length + (this.waiting.get(key) ?? 0);
  }

  /** Whether as many callers wait for the key as this one accepts. */
  isFull(caller: PendingAcquire): boolean {
    return this.countWaiting(caller.key) >= caller.maxWaiting;
  }

  /** The grant of that owner is broken by force. */
  broken(owner: OwnerId): void {
    const lock = this.unanswered.get(owner);
    if (lock !== undefined) lock.wasBroken = true;
  }

  /** Others come before that owner. */
  heldByOthers(owner: OwnerId): void {
    const lock = this.unanswered.get(owner);
    if (lock !== undefined) lock.isHeldByOthers = true;
  }

  /** One caller more is between two tries, or one less. */
  changeWaiting(key: string, by: 1 | -1): void {
    const count = (this.waiting.get(key) ?? 0) + by;
    if (count > 0) this.waiting.set(key, count);
    else this.waiting.delete(key);
  }
}

/**
 * Resolves when the session has connected or has failed to; rejects when the call's time or signal ends before (B10). The
 * only try of `waitTime: 0` may take as long as it takes.
 */
export async function whenStarted(
  engine: EngineContext,
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

/** @throws LockOptionsError if the store can't keep a lock for that long after its process has ended; sends nothing */
export function checkMinimumHold(session: LockStoreSession, holdAtLeast: number): void {
  const why = holdAtLeast > 0 ? session.whyTooLong?.(holdAtLeast) : undefined;
  if (why !== undefined) {
    throw new LockOptionsError(`holdAtLeast (${inMs(holdAtLeast)}) is too long: ${why}.`);
  }
}
