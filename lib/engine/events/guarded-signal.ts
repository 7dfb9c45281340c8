import { callListener } from './listener-call.js';

type Listener = Parameters<AbortSignal['addEventListener']>[1];
type Options = Parameters<AbortSignal['addEventListener']>[2];
type Handler = AbortSignal['onabort'];

/**
 * An `AbortController` for a signal that the user gets. Node ends the process when an abort listener throws or rejects,
 * so its listeners are called by way of a guard.
 */
export function guardedController(failed: (error: unknown) => void): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
  // The same guard for the same listener, so that it is added once and can be removed.
  const guards = new WeakMap<object, (event: Event) => void>();
  const guardOf = (listener: unknown): Listener => {
    // Node says what is wrong with anything else.
    if ((typeof listener !== 'object' && typeof listener !== 'function') || listener === null)
      return listener as Listener;
    const known = guards.get(listener);
    if (known !== undefined) return known;
    const guard = (event: Event): void => {
      callListener(() => notify(listener, signal, event), failed);
    };
    guards.set(listener, guard);
    return guard;
  };
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  let handler: Handler = null;
  const callHandler = (event: Event): unknown => handler?.call(signal, event) as unknown;
  const redefined = {
    addEventListener: (type: string, listener: unknown, options?: Options): void => {
      add(type, guardOf(listener), options);
    },
    removeEventListener: (type: string, listener: unknown, options?: Options): void => {
      remove(type, guardOf(listener), options);
    },
  };
  const hidden = { configurable: true, enumerable: false };
  Object.defineProperties(signal, {
    addEventListener: { ...hidden, writable: true, value: redefined.addEventListener },
    removeEventListener: { ...hidden, writable: true, value: redefined.removeEventListener },
    onabort: {
      ...hidden,
      get: () => handler,
      set: (next: Handler) => {
        if (handler === null) redefined.addEventListener('abort', callHandler);
        handler = typeof next === 'function' ? next : null;
      },
    },
  });
  return controller;
}

function notify(listener: object, signal: AbortSignal, event: Event): unknown {
  if (typeof listener === 'function') return Reflect.apply(listener, signal, [event]) as unknown;
  return (listener as { handleEvent(event: Event): unknown }).handleEvent(event);
}
