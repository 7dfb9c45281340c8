import type { InjectionToken } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { isPromiseLike } from '../../common/pending-reply.js';
import { LockOptionsError } from '../../model/lock.errors.js';
import type { LockService } from '../../api/lock.service.js';
import { getLockServiceToken, importOf } from './lock-service.token.js';
import type { AnyModule } from './one-module-per-name.js';
import { giveService, neededServices } from '../locked/needed-services.js';

type Provider = AnyModule['providers'] extends Map<unknown, infer P> ? P : never;
type Factory = (...dependencies: readonly unknown[]) => unknown;

/** Factories that see to their objects already. */
const serving = new WeakSet();

/**
 * Gives the objects of `useFactory` and `useValue` what their locked methods need. Nest fills properties only of objects
 * that it creates itself. What a factory makes later, for a request or for whoever injects something transient, is seen to
 * when it is made.
 *
 * @throws LockOptionsError where there is no such module instance
 */
export function serveGivenObjects(modules: ModulesContainer): void {
  for (const module of modules.values()) {
    for (const provider of [...module.providers.values(), ...module.injectables.values()]) {
      if (!provider.isNotMetatype) continue;
      const serve = (object: unknown): void => serveObject(modules, module, provider, object);
      serve(provider.instance);
      for (const made of provider.getStaticTransientInstances()) serve(made?.instance);
      if (provider.isFactory && (provider.isTransient || !provider.isDependencyTreeStatic())) {
        serveLater(provider, serve);
      }
    }
  }
}

function serveLater(provider: Provider, serve: (object: unknown) => void): void {
  const factory = provider.metatype as Factory;
  if (serving.has(factory)) return;
  const served = (...dependencies: readonly unknown[]): unknown => {
    const made = factory(...dependencies);
    // Nest waits for it, whatever kind of promise it is.
    if (!isPromiseLike(made)) {
      serve(made);
      return made;
    }
    return Promise.resolve(made).then((object) => {
      serve(object);
      return object;
    });
  };
  Object.defineProperty(served, 'name', { value: factory.name });
  serving.add(served);
  provider.metatype = served;
}

function serveObject(
  modules: ModulesContainer,
  module: AnyModule,
  provider: Provider,
  object: unknown,
): void {
  if (typeof object !== 'object' || object === null) return;
  for (const { property, instance, where } of neededServices(object)) {
    const service = serviceOf(modules, module, getLockServiceToken(instance));
    if (service !== undefined) {
      giveService(object, property, service);
    } else if (!(property in object)) {
      throw new LockOptionsError(
        `${where}: the provider "${nameOf(provider.token)}" of ${module.name} gives such an object, but there is no ` +
          `LockService for it. Import ${importOf(instance)} into the root module.`,
      );
    }
  }
}

/** What the module of the object would inject, or that of the lock module, of which there is one for each token. */
function serviceOf(
  modules: ModulesContainer,
  module: AnyModule,
  token: InjectionToken,
): LockService | undefined {
  const places = [module, ...modules.values()];
  // A test may have put another object in its place.
  return places.find(({ providers }) => providers.has(token))?.providers.get(token)?.instance as
    LockService | undefined;
}

function nameOf(token: InjectionToken): string {
  return typeof token === 'function' ? token.name : String(token);
}
