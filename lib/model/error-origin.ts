import { LockError } from './lock.errors.js';

const origins = new WeakMap<LockError, object>();

/** Notes of which module instance an error is, by its service or its engine. The first note counts: it is the nearest. */
export function originate<E>(error: E, origin: object): E {
  if (error instanceof LockError && !origins.has(error)) origins.set(error, origin);
  return error;
}

/** The service or engine that an error comes from; unknown for one that the application has made itself. */
export function originOf(error: LockError): object | undefined {
  return origins.get(error);
}
