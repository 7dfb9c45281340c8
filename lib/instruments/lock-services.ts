import { LockService } from '../api/lock.service.js';

/** What is used of Nest's container. */
export interface ModulesOfApp {
  values(): Iterable<{
    readonly metatype: unknown;
    readonly providers: { values(): Iterable<{ readonly instance: unknown }> };
  }>;
}

/** The lock services of an application, one for each instance of the module. */
export function lockServicesOf(modules: ModulesOfApp): readonly LockService[] {
  const services = new Set<LockService>();
  for (const { providers } of modules.values()) {
    for (const { instance } of providers.values()) {
      if (instance instanceof LockService) services.add(instance);
    }
  }
  return [...services];
}
