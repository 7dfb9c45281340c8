import { callListener } from './events/listener-call.js';
import { OwnContext } from '../common/own-context.js';

/** Where the engine writes for the operator. */
export interface EngineLog {
  log(message: string): void;
  warn(message: string): void;
}

/** What the engine needs to know of the module's options. All times are ms. */
export interface EngineSettings {
  readonly waitTime: number;
  readonly watchdogTimeout: number;
  readonly shutdownTimeout: number;
}

/** A log that throws breaks no lock, and writes nothing under the request id of whoever happens to run. */
export function harmless(log: EngineLog): EngineLog {
  const context = new OwnContext();
  const attempt = (write: (message: string) => void) => (message: string) => {
    callListener(
      () => context.run(() => write(message)),
      () => undefined, // there is nowhere left to say so
    );
  };
  return {
    log: attempt((message) => {
      log.log(message);
    }),
    warn: attempt((message) => {
      log.warn(message);
    }),
  };
}
