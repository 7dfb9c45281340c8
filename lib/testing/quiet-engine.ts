import type { EngineLog } from '../engine/events/engine-log.js';
import type { EngineSettings } from '../engine/lock-engine.js';

/** For engines that no module has made: the defaults of the module. */
export const SETTINGS: EngineSettings = { waitTime: 5_000, watchdogTimeout: 30_000, shutdownTimeout: 0 };

/** A test is told by its assertions. */
export const QUIET: EngineLog = { log: () => undefined, warn: () => undefined };
