import { LockService } from '../../api/lock.service.js';
import { LockEngine } from '../../engine/lock-engine.js';
import {
  resolveModuleOptions,
  type DistributedLockOptions,
} from '../../nest/module/distributed-lock.options.js';

/** A client of the store, as an application is one. */
export interface OpenLocks {
  readonly locks: LockService;
  /** Where they are: which store, and where in it. */
  readonly where: string;
  /** What an application would have in its log about the store. */
  readonly warnings: readonly string[];
  close(): Promise<void>;
}

/**
 * Nothing is connected before something is asked.
 *
 * @throws LockOptionsError for options that can't work
 */
export function openLocks(options: DistributedLockOptions): OpenLocks {
  const settings = resolveModuleOptions(options);
  const warnings: string[] = [];
  const log = {
    log: () => undefined,
    warn: (message: string) => {
      warnings.push(message);
    },
  };
  const engine = new LockEngine(settings.store, settings, log);
  const locks = new LockService(engine, settings.waitTime, settings.maxWaiting);
  const { name, place } = settings.store;
  const where = place === undefined ? name : `${name}, ${place}`;
  return { locks, where, warnings, close: () => engine.close() };
}
