import 'reflect-metadata';
import type { InjectionToken } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { LockAdmin } from '../../api/lock-admin.js';
import { LockService } from '../../api/lock.service.js';
import { LockOptionsError } from '../../model/lock.errors.js';
import { shown } from '../../model/option-checks.js';

/** The injection token of a `LockService`: the class itself, or a string for a module instance with a `name`. */
export function getLockServiceToken(name?: string): typeof LockService | string {
  return name === undefined ? LockService : named('LockService', name);
}

/** The injection token of a `LockAdmin`: the class itself, or a string for a module instance with a `name`. */
export function getLockAdminToken(name?: string): typeof LockAdmin | string {
  return name === undefined ? LockAdmin : named('LockAdmin', name);
}

function named(provided: string, name: string): string {
  if (typeof name !== 'string' || name === '') {
    throw new LockOptionsError(
      `The name of a lock module must be a non-empty string, or be left out; got ${shown(name)}.`,
    );
  }
  return `${provided} of DistributedLockModule.forRoot({ name: '${name}' })`;
}

/** The injection token of the options of a module instance, for modules of this package that open their own sessions. */
export function getLockOptionsToken(name?: string): string {
  return `options of ${importOf(name)}`;
}

/** The missing import, for error messages. */
export function importOf(name: string | undefined): string {
  return `DistributedLockModule.forRoot(${name === undefined ? '…' : `{ name: '${name}', … }`})`;
}

/** The `LockService` that a locked method needs, and the property of its object that holds it. */
interface NeededService {
  readonly property: symbol;
  /** The name of the module instance. */
  readonly instance: string | undefined;
  /** The method's name, for messages. */
  readonly where: string;
}

const NEEDED = Symbol.for('nestjs-distributed-lock:needed-services');

/** Services of objects that accept no property, such as frozen ones. */
const services = new WeakMap<object, Map<symbol, LockService>>();

/** Records the services that the methods of a class need. */
export function needService(prototype: object, needed: NeededService): void {
  Reflect.defineMetadata(NEEDED, [...neededServices(prototype), needed], prototype);
}

/** The service that Nest or {@link serveGivenObjects} set on an object. */
export function serviceUnder(object: object, property: symbol): LockService | undefined {
  return (object as Partial<Record<symbol, LockService>>)[property] ?? services.get(object)?.get(property);
}

/** Includes the services of inherited methods. */
function neededServices(object: object): readonly NeededService[] {
  try {
    return (Reflect.getMetadata(NEEDED, object) ?? []) as readonly NeededService[];
  } catch {
    // A proxy may hide its prototype.
    return [];
  }
}

/** An object may move from one application to the next, so a later service replaces an earlier one. */
function giveService(object: object, property: symbol, service: LockService): void {
  // Not enumerable, so that copies and printed objects leave it out.
  const given = { value: service, enumerable: false, configurable: true, writable: true };
  if (Reflect.defineProperty(object, property, given)) return;
  const ofObject = services.get(object) ?? new Map<symbol, LockService>();
  services.set(object, ofObject.set(property, service));
}

export type AnyModule = ModulesContainer extends Map<string, infer M> ? M : never;
type Provider = AnyModule['providers'] extends Map<unknown, infer P> ? P : never;
type Factory = (...dependencies: readonly unknown[]) => unknown;

/** Factories that {@link serveLater} has wrapped. */
const serving = new WeakSet();

/**
 * Sets the services that locked methods need on objects of `useFactory` and `useValue`, as Nest injects properties only
 * into objects that it creates itself. Objects that a factory creates later, for a request or a transient dependency,
 * are served when they are created.
 *
 * @throws LockOptionsError if there is no such module instance
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

/**
 * Wraps the factory, since Nest has no hook for the objects of a factory: it injects properties into classes only, and
 * `instanceDecorator` is an option of the application, which a module can't set.
 */
function serveLater(provider: Provider, serve: (object: unknown) => void): void {
  const factory = provider.metatype as Factory;
  if (serving.has(factory)) return;
  const served = async (...dependencies: readonly unknown[]): Promise<unknown> => {
    const made = await factory(...dependencies);
    serve(made);
    return made;
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
      const { token } = provider;
      const name = typeof token === 'function' ? token.name : String(token);
      throw new LockOptionsError(
        `${where}: the provider "${name}" of ${module.name} creates such an object, but there is no ` +
          `LockService for it. Import ${importOf(instance)} into the root module.`,
      );
    }
  }
}

/** The service that the module would inject, else that of the lock module; there is one for each token. */
function serviceOf(
  modules: ModulesContainer,
  module: AnyModule,
  token: InjectionToken,
): LockService | undefined {
  const places = [module, ...modules.values()];
  // A test may have overridden the provider.
  return places.find(({ providers }) => providers.has(token))?.providers.get(token)?.instance as
    LockService | undefined;
}
