import { isMainThread } from 'node:worker_threads';
import type { LockEngine } from '../../engine/lock-engine.js';
import { inMs } from '../../common/durations.js';
import { MemoryLockStore } from '../../stores/memory/memory-lock-store.js';

/** How long after its start an application may still enable its shutdown hooks, ms. */
const PATIENCE = 5_000;
/** The most locks that the line at the exit names. */
const MOST_NAMED = 20;

/** The engines of running applications whose locks outlive the process. */
const running = new Set<LockEngine>();
let hasWarned = false;

/**
 * Logs what happens to held locks if the process ends without shutting the application down. A signal without a handler ends
 * it without an event, and a handler of our own would change how the process ends: so that case is logged in advance, once.
 */
export function noticeExit(engine: LockEngine): void {
  if (engine.store instanceof MemoryLockStore) return;
  if (running.size === 0) process.on('exit', onExit);
  running.add(engine);
  if (hasWarned || !isMainThread || process.env['NODE_ENV'] === 'test') return;
  setTimeout(() => {
    if (hasWarned || !running.has(engine) || process.listenerCount('SIGTERM') > 0) return;
    hasWarned = true;
    engine.log.warn(
      `Nothing in this process handles SIGTERM: it then ends at once, and locks that it holds stay held until their leases end (${inMs(engine.watchdogTimeout)}). Call app.enableShutdownHooks().`,
    );
  }, PATIENCE).unref();
}

/** The application has shut down. */
export function forgetExit(engine: LockEngine): void {
  running.delete(engine);
  if (running.size === 0) process.off('exit', onExit);
}

function onExit(): void {
  for (const { log, overview } of running) {
    const keys = overview.held().map(({ key }) => JSON.stringify(key));
    if (keys.length === 0) continue;
    const more = keys.length > MOST_NAMED ? ` and ${String(keys.length - MOST_NAMED)} more` : '';
    log.warn(
      `The process ends, though its application has not shut down. Locks that it holds stay held until their leases end: ${keys.slice(0, MOST_NAMED).join(', ')}${more}. Call app.close() first.`,
    );
  }
}
