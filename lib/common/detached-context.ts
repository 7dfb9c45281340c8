import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';

/** The scope of the running code, defined by `engine/scope.ts`. Here it is only left. */
export const scopeStorage = new AsyncLocalStorage<unknown>();

/** Made when this module is loaded: outside of any request, of any span, and of the start of an application. */
const resource = new AsyncResource('DistributedLock');

/**
 * The async context of what serves all callers. Timers, sockets and promises run in the context that created them. In
 * that of one request, events of other requests would be logged under its id, their requests to the store would belong
 * to its trace, and its `AsyncLocalStorage` data would stay in memory for as long as a connection lives. It is outside of
 * every scope: a lock that a listener acquires there would otherwise re-enter another caller's hold.
 */
export const detachedContext = {
  /** Calls `fn` without a closure for each call, since every request passes here. */
  call<A, R, B = undefined>(fn: (argument: A, other: B) => R, argument: A, other?: B): R {
    return resource.runInAsyncScope(fn as (argument: A, other?: B) => R, undefined, argument, other);
  },

  run<R>(fn: () => R): R {
    return resource.runInAsyncScope(fn);
  },
};
