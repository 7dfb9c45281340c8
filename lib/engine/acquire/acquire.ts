import type { ResolvedLockOptions } from '../../model/resolved-lock.options.js';
import type { MonotonicMs } from '../../stores/port/lock-store.js';
import type { Hold } from '../hold/hold.js';
import { ownHold, reenter } from '../hold/reenter.js';
import { checkMinimumHold } from '../lease/lease-bounds.js';
import { Waiter } from '../queue/waiter.js';
import { scopeOfCaller } from '../scope/scope.js';
import type { AcquireContext } from './acquire-context.js';
import { ONCE, RetryingAcquire } from './retrying-acquire.js';
import { tryOnce } from './try-acquire.js';
import { whenStarted } from './when-started.js';

/**
 * Takes one lock, or throws: first of the holds of the running code (re-entry), then in the process's queue of the key.
 *
 * @param startedAt since when the caller waits
 * @param now the time
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
  // Most callers hold nothing, and the store has been started.
  if (!engine.isStarted || scope !== undefined) return acquireInScope(context, key, options, startedAt);
  checkMinimumHold(engine.session, options.holdAtLeast);
  return acquireAnew(context, new Waiter(engine, key, options, startedAt, scope, now));
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
  // It may have been aborted in the moment in which the re-entry it waited for became a fresh acquisition.
  options.signal?.throwIfAborted();
  const now = engine.clock.monotonic();
  return await acquireAnew(context, new Waiter(engine, key, options, startedAt, scopeOfCaller(), now));
}

function acquireAnew(context: AcquireContext, caller: Waiter): Promise<Hold> {
  const { engine } = context;
  if (engine.isClosing) throw engine.reporter.closed(caller.key);
  const { waitTime, retry, maxWaiting } = caller;
  if (engine.isOverdue && waitTime === Infinity) engine.track(tryOnce(context, caller));
  else if (retry !== undefined) engine.track(new RetryingAcquire(context, caller, retry).run());
  else if (waitTime === 0) engine.track(tryOnce(context, caller));
  else if (maxWaiting !== Infinity && context.isFull(caller))
    engine.track(new RetryingAcquire(context, caller, ONCE).run());
  else context.queues.add(caller);
  return caller.promise;
}
