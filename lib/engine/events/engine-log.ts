import { OwnContext } from '../../common/own-context.js';
import { callListener } from './listener-call.js';

/** Where the engine writes for the operator. */
export interface EngineLog {
  log(message: string): void;
  warn(message: string): void;
}

/** A log that throws breaks no lock, and writes nothing under the request id of whoever happens to run. */
export function harmless(log: EngineLog): EngineLog {
  const context = new OwnContext();
  const attempt = (level: 'log' | 'warn') => (message: string) => {
    callListener(
      () => context.run((): unknown => log[level](message)),
      () => undefined, // there is nowhere left to say so
    );
  };
  return { log: attempt('log'), warn: attempt('warn') };
}
