import { subscribe, unsubscribe, type Channel, type ChannelListener } from 'node:diagnostics_channel';
import { LockService } from '../api/lock.service.js';

/** The part of Nest's `ModulesContainer` that is used here. */
export interface ModulesOfApp {
  values(): Iterable<{
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

/** Subscribes listeners to diagnostics channels. Returns a function that unsubscribes them. */
export function subscribeTo(
  ...listeners: readonly (readonly [Pick<Channel, 'name'>, ChannelListener])[]
): () => void {
  for (const [{ name }, listener] of listeners) subscribe(name, listener);
  return () => {
    for (const [{ name }, listener] of listeners) unsubscribe(name, listener);
  };
}
