import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';

/** The scope of the running code, defined by `engine/scope.ts`. Here it is only left. */
export const scopeStorage = new AsyncLocalStorage<unknown>();

/**
 * The async context in which the module was started. Timers, sockets and promises run in the context that created them.
 * Parts that serve all requests must not be created in the context of one request: events of other requests would be
 * logged under its id, and its `AsyncLocalStorage` data would stay in memory for as long as a connection lives. Create
 * it together with the module's parts. It is outside of every scope: a lock that a listener acquires there would
 * otherwise re-enter another caller's hold (B51).
 */
export class DetachedContext {
  private readonly resource: AsyncResource;

  constructor() {
    this.resource = scopeStorage.run(undefined, () => new AsyncResource('DistributedLock'));
  }

  /** Calls `fn` without a closure for each call, since every request passes here. */
  call<A, R, B = undefined>(fn: (argument: A, other: B) => R, argument: A, other?: B): R {
    return this.resource.runInAsyncScope(fn, undefined, argument, other);
  }

  run<R>(fn: () => R): R {
    return this.resource.runInAsyncScope(fn);
  }
}
