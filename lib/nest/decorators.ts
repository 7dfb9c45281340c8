import 'reflect-metadata';
import { Inject } from '@nestjs/common';
import { Observable } from 'rxjs';
import { LockOptionsError } from '../model/lock.errors.js';
import { HandlerCall } from './requests/handler-call.js';
import { LockedMethod } from './locked/locked-method.js';
import {
  resolveLockedOptions,
  type LockedDecorator,
  type LockedOptions,
  type OnBusy,
} from './locked/locked.options.js';
import {
  getLockAdminToken,
  getLockServiceToken,
  importOf,
  needService,
} from './module/lock-service.injection.js';

/** Injects the `LockService` of the module instance with this `name`, or of the unnamed instance. */
export function InjectLockService(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLockServiceToken(name));
}

/** Injects the `LockAdmin` of the module instance with this `name`, or of the unnamed instance. */
export function InjectLockAdmin(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLockAdminToken(name));
}

/**
 * Runs a method under a lock: acquires it before the call, renews it while the method runs, and releases it before the
 * caller gets the result. On a handler that Nest calls, the lock is acquired after guards and pipes and held until the
 * response is ready, or a stream that the handler returned has been sent. On a method that returns an Observable, it is
 * acquired for each subscription.
 *
 * Write it above the method, such as `@Locked({ key: (dto: DeductDto) => dto.sku, waitTime: 3_000 })` above
 * `async deduct(dto: DeductDto): Promise<Stock>`.
 *
 * Without a key, as in `@Locked()`, the key is the name of the class and the method, such as `Reports.send`. Use that
 * for jobs that must not run concurrently: all calls exclude each other, whatever their arguments. Two classes of the
 * same name share the key.
 *
 * @throws LockOptionsError when the class is defined, for invalid options; when the method is called, for an invalid
 * key, an invalid value returned by a function in the options, or a result whose work would begin after the release. A call also throws what `LockService.withLock` throws
 */
export function Locked<
  Args extends readonly unknown[] = [],
  This extends object = object,
  Busy extends OnBusy<This> = 'throw',
  Label extends readonly unknown[] = [],
  Wait extends readonly unknown[] = [],
  Lease extends readonly unknown[] = [],
  Hold extends readonly unknown[] = [],
  Operation extends readonly unknown[] = [],
>(
  ...given:
    readonly [] | readonly [string | LockedOptions<Args, This, Busy, Label, Wait, Lease, Hold, Operation>]
): LockedDecorator<Args, This, Busy, Label | Wait | Lease | Hold | Operation> {
  refuseDirectUse(given);
  return (target, name, descriptor) => {
    refuseOtherPlaces(target, name, descriptor);
    const owner = typeof target === 'function' ? (target as { readonly name: string }) : target.constructor;
    const fullName = `${owner.name}.${String(name)}`;
    const where = `@Locked on ${fullName}`;
    const original = descriptor.value;
    if (typeof original !== 'function' || typeof target === 'function') {
      throw new LockOptionsError(
        `${where}: put it on a method of instances; a static method, getter, setter or field can't be locked.`,
      );
    }
    const options = resolveLockedOptions(where, given, fullName);
    const property = servicePropertyOf(options.instance);
    // Nest sets the property when it creates the instance, using the module that declares the class.
    Inject(getLockServiceToken(options.instance))(target, property);
    needService(target, { property, instance: options.instance, where });

    const method = new LockedMethod(where, options, property, target, original);
    const isStream = options.returns === 'observable' || returnsObservable(target, name, original);
    const isGenerator = original.constructor.name.endsWith('GeneratorFunction');
    replaceMethod(descriptor, function (this: object, ...args: unknown[]): unknown {
      const call = HandlerCall.claim(method);
      if (call !== undefined) return method.runInHandler(call, this, args);
      if (isGenerator) throw method.generator();
      return isStream ? method.stream(this, args) : method.run(this, args);
    });
    method.handler = descriptor.value;
    HandlerCall.mark(descriptor.value, method);
  };
}

/** Compilers that check no types also compile `@Locked` without parentheses, which then locks nothing. */
function refuseDirectUse(given: readonly unknown[]): void {
  if (given.length < 2 && typeof given[0] !== 'function') return;
  const name = typeof given[1] === 'string' || typeof given[1] === 'symbol' ? ` on ${String(given[1])}` : '';
  throw new LockOptionsError(
    `@Locked${name}: write it with parentheses, above a method: @Locked(), @Locked('key') or @Locked({ key: … }).`,
  );
}

/** What the types refuse, for compilers that do not check them. */
function refuseOtherPlaces(
  target: unknown,
  name: string | symbol | object | undefined,
  descriptor: unknown,
): void {
  if (typeof name === 'object') {
    throw new LockOptionsError(
      '@Locked: set experimentalDecorators: true in the compiler options (SWC: legacyDecorator, esbuild: experimentalDecorators). ' +
        'Nest also needs them.',
    );
  }
  if (name === undefined) throw new LockOptionsError('@Locked: put it on methods, not on the class.');
  if (typeof descriptor === 'object' && descriptor !== null) return;
  const owner = typeof target === 'object' && target !== null ? target.constructor.name : 'class';
  throw new LockOptionsError(`@Locked on ${owner}.${String(name)}: put it on a method, not on a field.`);
}

/** Named so that Nest's error for a missing provider says what to import. */
function servicePropertyOf(instance: string | undefined): symbol {
  return Symbol.for(`LockService: import ${importOf(instance)} into the root module to use @Locked`);
}

/** Replaces a decorated method. Keeps its name, length and the metadata of other decorators, such as guards below. */
function replaceMethod<Method extends (...args: never) => unknown>(
  descriptor: TypedPropertyDescriptor<Method>,
  replacement: (this: object, ...args: unknown[]) => unknown,
): void {
  const original = descriptor.value;
  if (original === undefined) return;
  for (const property of Reflect.ownKeys(original)) {
    const own = Object.getOwnPropertyDescriptor(original, property);
    if (property !== 'prototype' && own !== undefined) Object.defineProperty(replacement, property, own);
  }
  for (const metadataKey of Reflect.getOwnMetadataKeys(original) as unknown[]) {
    Reflect.defineMetadata(metadataKey, Reflect.getOwnMetadata(metadataKey, original), replacement);
  }
  // It has the parameters of the method and returns its result, or a promise of it.
  descriptor.value = replacement as unknown as Method;
}

/** Whether the declared return type is an Observable, according to the compiler's decorator metadata. */
function returnsObservable(target: object, name: string | symbol, method: object): boolean {
  if (method.constructor.name === 'AsyncFunction') return false;
  const type: unknown = Reflect.getMetadata('design:returntype', target, name);
  if (typeof type !== 'function') return false;
  // Also compared by name: the class may come from another copy of rxjs.
  for (let kind: unknown = type; typeof kind === 'function'; kind = Object.getPrototypeOf(kind)) {
    if (kind === Observable || kind.name === 'Observable') return true;
  }
  return false;
}
