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

/** Listeners of diagnostics channels, which are subscribed and unsubscribed together. */
export class Subscriptions {
  constructor(private readonly listeners: readonly (readonly [Pick<Channel, 'name'>, ChannelListener])[]) {}

  start(): void {
    for (const [{ name }, listener] of this.listeners) subscribe(name, listener);
  }

  stop(): void {
    for (const [{ name }, listener] of this.listeners) unsubscribe(name, listener);
  }
}
