import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';

/** The scope that the running code is in: `engine/scope.ts` gives it its meaning. Here it is known only to be left. */
export const scopeStorage = new AsyncLocalStorage<unknown>();

/**
 * The async context in which the module was started. Timers, sockets and promises belong to the context in which they
 * are made, and are run in it. What serves all requests must not be made in that of one of them: other requests' events
 * would be logged under its id, and what it keeps in `AsyncLocalStorage` would stay in memory for as long as a
 * connection lives. Make it where the module's parts are made. It is outside of every scope: a lock that a listener
 * acquires there would otherwise re-enter another caller's hold (B51).
 */
export class DetachedContext {
  private readonly resource: AsyncResource;

  constructor() {
    this.resource = scopeStorage.run(undefined, () => new AsyncResource('DistributedLock'));
  }

  /** Calls `fn` without a closure for each call, since every request comes by here. */
  call<A, R, B = undefined>(fn: (argument: A, other: B) => R, argument: A, other?: B): R {
    return this.resource.runInAsyncScope(fn, undefined, argument, other);
  }

  run<R>(fn: () => R): R {
    return this.resource.runInAsyncScope(fn);
  }
}
