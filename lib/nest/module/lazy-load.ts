import type { ModulesContainer } from '@nestjs/core';
import { LockOptionsError } from '../../model/lock.errors.js';

/**
 * Rejects a module that a `LazyModuleLoader` loads, since Nest would call none of its hooks: connections and metrics would
 * outlive the application. Nest gives a distance from the root to the modules of the start only.
 *
 * @throws LockOptionsError, with which the load fails
 */
export function refuseLazyLoad(modules: ModulesContainer, module: unknown, name: string): void {
  if (![...modules.values()].some(({ metatype, distance }) => metatype === module && distance === 0)) return;
  throw new LockOptionsError(
    `${name} is loaded lazily, so Nest would not tell it when the application starts and ends. ` +
      'Import it into the root module.',
  );
}
