import { outcomeOf, traceAcquire } from '../engine/events/traces.js';
import type { Hold } from '../engine/hold/hold.js';
import type { MultiHold } from '../engine/hold/multi-hold.js';
import type { LockEngine } from '../engine/lock-engine.js';
import { acquireChannel, isTraced } from '../model/lock-channels.js';
import type { LockKey } from '../model/lock-key.js';
import type { ResolvedLockOptions } from '../model/resolved-lock.options.js';
import type { MonotonicMs } from '../stores/port/lock-store.js';

/** Takes what a call asks for, and tells those who trace that. */
export function take(
  engine: LockEngine,
  keys: LockKey,
  options: ResolvedLockOptions,
): Promise<Hold | MultiHold> {
  if (!isTraced(acquireChannel)) return takeUntraced(engine, keys, options);
  const { instance } = engine.context;
  return traceAcquire(instance, [keys].flat(), options, (terms) => takeUntraced(engine, keys, terms));
}

function takeUntraced(
  engine: LockEngine,
  keys: LockKey,
  options: ResolvedLockOptions,
): Promise<Hold | MultiHold> {
  return typeof keys === 'string' ? engine.acquire(keys, options) : engine.acquireAll(keys, options);
}

/** Tells of a call that ended without the word of the store, before its caller hears of it. */
export function tellEnded(
  { context }: LockEngine,
  error: unknown,
  key: LockKey,
  options: ResolvedLockOptions,
  calledAt: MonotonicMs,
): void {
  const outcome = outcomeOf(error, options);
  if (outcome !== 'aborted' && outcome !== 'closed') return;
  const [first = ''] = [key].flat().sort();
  context.reporter.ended(outcome, { ...options, key: first }, calledAt);
}
