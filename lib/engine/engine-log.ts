import { DetachedContext } from '../common/detached-context.js';
import { callListener } from './event-hub.js';

/** The engine's log. */
export interface EngineLog {
  log(message: string): void;
  warn(message: string): void;
}

/** A log that can't break a lock by throwing, and does not write under the request id of an unrelated call. */
export function harmless(log: EngineLog): EngineLog {
  const context = new DetachedContext();
  const attempt = (level: 'log' | 'warn') => (message: string) => {
    callListener(
      () => context.run((): unknown => log[level](message)),
      () => undefined, // there is nowhere left to say so
    );
  };
  return { log: attempt('log'), warn: attempt('warn') };
}
