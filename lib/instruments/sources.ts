import { subscribe, unsubscribe, type Channel, type ChannelListener } from 'node:diagnostics_channel';
import { LockAdmin } from '../api/lock-admin.js';

/** The part of Nest's `ModulesContainer` that is used here. */
export interface ModulesOfApp {
  values(): Iterable<{
    readonly providers: { values(): Iterable<{ readonly instance: unknown }> };
  }>;
}

/** The `LockAdmin`s of an application, one for each instance of the module. */
export function lockAdminsOf(modules: ModulesOfApp): readonly LockAdmin[] {
  const admins = new Set<LockAdmin>();
  for (const { providers } of modules.values()) {
    for (const { instance } of providers.values()) {
      if (instance instanceof LockAdmin) admins.add(instance);
    }
  }
  return [...admins];
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
