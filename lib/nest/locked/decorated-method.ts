import 'reflect-metadata';
import { Observable } from 'rxjs';

/**
 * Puts another function in place of a decorated method. Name, length and everything that decorators have written on the
 * method stay (B32); otherwise a guard below would no longer guard.
 */
export function replaceMethod<Method extends (...args: never) => unknown>(
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
  // It takes what the method takes and returns what it returns, a promise of it at the most.
  descriptor.value = replacement as unknown as Method;
}

/** Whether a method is declared to return an Observable, by the metadata that the compiler emits for it. */
export function returnsObservable(target: object, name: string | symbol, method: object): boolean {
  if (method.constructor.name === 'AsyncFunction') return false;
  const type: unknown = Reflect.getMetadata('design:returntype', target, name);
  if (typeof type !== 'function') return false;
  // By name, too: the declared class may come from another copy of rxjs.
  for (let kind: unknown = type; typeof kind === 'function'; kind = Object.getPrototypeOf(kind)) {
    if (kind === Observable || kind.name === 'Observable') return true;
  }
  return false;
}
