/** Who wants to know when a signal aborts. */
export interface AbortListener {
  aborted(): void;
}

interface Listeners {
  readonly all: Set<AbortListener>;
  readonly dispatch: () => void;
}

const listenersOf = new WeakMap<AbortSignal, Listeners>();

/**
 * Tells once when the signal aborts. Any number of waits may share a signal: it gets one listener for all of them, since
 * Node warns of a leak when there are more than ten.
 */
export function onAbort(signal: AbortSignal, listener: AbortListener): void {
  let listeners = listenersOf.get(signal);
  if (listeners === undefined) {
    const all = new Set<AbortListener>();
    const dispatch = (): void => {
      listenersOf.delete(signal);
      for (const each of [...all]) each.aborted();
    };
    listeners = { all, dispatch };
    listenersOf.set(signal, listeners);
    signal.addEventListener('abort', dispatch, { once: true });
  }
  listeners.all.add(listener);
}

export function offAbort(signal: AbortSignal, listener: AbortListener): void {
  const listeners = listenersOf.get(signal);
  if (listeners?.all.delete(listener) !== true) return;
  if (listeners.all.size > 0) return;
  listenersOf.delete(signal);
  signal.removeEventListener('abort', listeners.dispatch);
}
