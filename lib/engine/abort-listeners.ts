interface Listeners {
  readonly calls: Set<() => void>;
  readonly dispatch: () => void;
}

const listenersOf = new WeakMap<AbortSignal, Listeners>();

/**
 * Calls back once when the signal aborts. Any number of waits may share a signal: it gets one listener for all of them,
 * since Node warns of a leak when there are more than ten.
 */
export function onAbort(signal: AbortSignal, call: () => void): void {
  let listeners = listenersOf.get(signal);
  if (listeners === undefined) {
    const calls = new Set<() => void>();
    const dispatch = (): void => {
      listenersOf.delete(signal);
      for (const each of [...calls]) each();
    };
    listeners = { calls, dispatch };
    listenersOf.set(signal, listeners);
    signal.addEventListener('abort', dispatch, { once: true });
  }
  listeners.calls.add(call);
}

export function offAbort(signal: AbortSignal, call: () => void): void {
  const listeners = listenersOf.get(signal);
  if (listeners === undefined) return;
  listeners.calls.delete(call);
  if (listeners.calls.size > 0) return;
  listenersOf.delete(signal);
  signal.removeEventListener('abort', listeners.dispatch);
}
