import type { ModulesContainer } from '@nestjs/core';
import { LockService } from '../api/lock.service.js';

/** The lock services of an application, one for each instance of the module. */
export function lockServicesOf(modules: ModulesContainer): readonly LockService[] {
  const services = new Set<LockService>();
  for (const { providers } of modules.values()) {
    for (const { instance } of providers.values()) {
      const made: unknown = instance;
      if (made instanceof LockService) services.add(made);
    }
  }
  return [...services];
}
