import 'reflect-metadata';

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
