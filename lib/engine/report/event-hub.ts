import { Observable, type Observer, Subscriber, type Subscription } from 'rxjs';
import { detachedContext } from '../../common/detached-context.js';
import { isPromiseLike } from '../../common/deferred.js';
import { eventChannel, type LockEventMessage } from '../../model/lock-channels.js';
import type { LockEvent } from '../../model/lock.events.js';

/** The engine's log. */
export interface EngineLog {
  log(message: string): void;
  warn(message: string): void;
}

/** A log that can't break a lock by throwing, and does not write under the request id of an unrelated call. */
export function harmless(log: EngineLog): EngineLog {
  const attempt = (level: 'log' | 'warn') => (message: string) => {
    callListener(
      () => detachedContext.run((): unknown => log[level](message)),
      () => undefined, // there is no log left to report it
    );
  };
  return { log: attempt('log'), warn: attempt('warn') };
}

/** Delivers events to subscribers. A listener that throws affects neither the engine nor the process. */
export class EventHub {
  readonly events: Observable<LockEvent>;
  private readonly subscribers = new Set<Subscriber<LockEvent>>();
  private isOver = false;

  /** @param instance the name of the module instance, for instruments of the whole process */
  constructor(
    private readonly log: EngineLog,
    private readonly instance?: string,
  ) {
    const warn = (message: string): void => {
      log.warn(message);
    };
    this.events = new GuardedObservable<LockEvent>(warn, (subscriber) => {
      if (this.isOver) subscriber.complete();
      else this.subscribers.add(subscriber);
      return () => {
        this.subscribers.delete(subscriber);
      };
    });
  }

  /** Whether an event has any recipient. Check it before creating one. */
  get observed(): boolean {
    return this.subscribers.size > 0 || eventChannel.hasSubscribers;
  }

  emit(event: LockEvent): void {
    if (eventChannel.hasSubscribers) detachedContext.call(this.publish, event);
    if (this.subscribers.size > 0) detachedContext.call(this.deliver, event);
  }

  /** Completes all subscriptions, including later ones. */
  complete(): void {
    this.isOver = true;
    detachedContext.call(this.deliver, undefined);
  }

  private readonly publish = (event: LockEvent): void => {
    eventChannel.publish({ instance: this.instance, event } satisfies LockEventMessage);
  };

  /** Without an event: completes all subscriptions. */
  private readonly deliver = (event: LockEvent | undefined): void => {
    for (const subscriber of [...this.subscribers]) {
      try {
        if (event === undefined) subscriber.complete();
        else subscriber.next(event);
      } catch (error) {
        // Thrown by an operator, such as its teardown.
        this.log.warn(`A listener of lock events threw: ${textOf(error)}`);
      }
    }
  };
}

type Listener<T> = Partial<Observer<T>> | ((value: T) => void);
type Warn = (message: string) => void;

/** What the guard calls, whatever the operators are. */
interface Source {
  subscribe(subscriber: Subscriber<unknown>): Subscription;
  pipe(...operators: readonly unknown[]): unknown;
}

const plain = Observable.prototype as unknown as Source;

/**
 * An Observable whose listeners can't end the process. From a timer, rxjs rethrows errors of listeners and unhandled
 * errors; here both become a log line. So do those of the Observables that `pipe` returns.
 */
export class GuardedObservable<T> extends Observable<T> {
  constructor(
    readonly warn: Warn,
    subscribe: (subscriber: Subscriber<T>) => Subscription | (() => void),
  ) {
    super(subscribe);
  }

  override subscribe(
    listener?: Listener<T> | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    // Operators and `firstValueFrom` subscribe with a Subscriber, which handles errors itself.
    if (listener instanceof Subscriber) return super.subscribe(listener);
    const given =
      typeof listener === 'function' || !listener ? { next: listener, error, complete } : listener;
    return super.subscribe(new Guard(guardedObserver(given, this.warn)).of(this.warn));
  }
}

// Outside the class, where `pipe` would need an overload for each number of operators.
Object.defineProperty(GuardedObservable.prototype, 'pipe', {
  configurable: true,
  writable: true,
  value(this: GuardedObservable<unknown>, ...operators: readonly unknown[]): unknown {
    return guarded(plain.pipe.apply(this, [...operators]), this.warn);
  },
});

/** A user's teardown may throw as well. */
class GuardedSubscriber<T> extends Subscriber<T> {
  private warn: Warn | undefined;

  of(warn: Warn): this {
    this.warn = warn;
    return this;
  }

  override unsubscribe(): void {
    try {
      super.unsubscribe();
    } catch (error) {
      this.warn?.(`The teardown of a subscription to lock events threw: ${textOf(error)}`);
    }
  }
}

/** The constructor is that of rxjs, which its types mark as internal. */
const Guard = GuardedSubscriber as unknown as new <T>(observer: Observer<T>) => GuardedSubscriber<T>;

function guardedObserver<T>(
  given: { [K in keyof Observer<T>]?: Observer<T>[K] | null | undefined },
  warn: Warn,
): Observer<T> {
  const call = (listener: () => unknown, when: () => string): void => {
    callListener(listener, (error) => {
      warn(`A listener of lock events threw ${when()}: ${textOf(error)}`);
    });
  };
  return {
    next: (value) => {
      call(
        () => given.next?.(value),
        () => `on ${nameOf(value)}`,
      );
    },
    error: (reason: unknown) => {
      const { error } = given;
      if (typeof error !== 'function')
        warn(`A subscription to lock events ended with an unhandled error: ${textOf(reason)}`);
      else
        call(
          () => given.error?.(reason),
          () => 'on an error',
        );
    },
    complete: () => {
      call(
        () => given.complete?.(),
        () => 'at their end',
      );
    },
  };
}

/** Guards the result of operators. */
function guarded(result: unknown, warn: Warn): unknown {
  if (!(result instanceof Observable) || result instanceof GuardedObservable) return result;
  const made: Observable<unknown> = result;
  const subscribe = (made as Source).subscribe.bind(made);
  const guard = new GuardedObservable(warn, subscribe);
  if (!('connect' in made)) return guard;
  // A connectable Observable, which must stay one. It is new for each call, so it may be modified.
  return Object.defineProperty(made, 'subscribe', { value: guard.subscribe.bind(guard) });
}

/** The type of an event. Operators may have mapped the event to anything else. */
function nameOf(value: unknown): string {
  const isEvent = typeof value === 'object' && value !== null && 'type' in value;
  return isEvent && typeof value.type === 'string' ? `"${value.type}"` : 'a value';
}

type SignalListener = Parameters<AbortSignal['addEventListener']>[1];
type Options = Parameters<AbortSignal['addEventListener']>[2];
type Handler = AbortSignal['onabort'];

/**
 * An `AbortController` for a signal passed to the user. Every listener is guarded: Node ends the process when one throws.
 *
 * @param check called before the signal tells whether it is aborted, and may abort it: after a blocked event loop, timers
 * have not fired yet
 */
export function guardedController(failed: (error: unknown) => void, check: () => void): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
  // One guard per listener, so that adding twice and removing work.
  const guards = new WeakMap<object, (event: Event) => void>();
  const guardOf = (listener: unknown): SignalListener => {
    // Node reports invalid listeners.
    if ((typeof listener !== 'object' && typeof listener !== 'function') || listener === null)
      return listener as SignalListener;
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
  const current = (name: keyof AbortSignal): PropertyDescriptor => ({
    ...hidden,
    get: (): unknown => {
      check();
      return Reflect.get(AbortSignal.prototype, name, signal);
    },
  });
  Object.defineProperties(signal, {
    addEventListener: { ...hidden, writable: true, value: redefined.addEventListener },
    removeEventListener: { ...hidden, writable: true, value: redefined.removeEventListener },
    // Node's functions, `fetch` and `AbortSignal.any` read this one, and listen to the event.
    aborted: current('aborted'),
    reason: current('reason'),
    throwIfAborted: {
      ...hidden,
      writable: true,
      value: (): void => {
        check();
        AbortSignal.prototype.throwIfAborted.call(signal);
      },
    },
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

/** Calls a user's listener. Errors and rejections go to `failed`; otherwise Node would end the process. */
function callListener(listener: () => unknown, failed: (error: unknown) => void): void {
  try {
    const outcome = listener();
    if (isPromiseLike(outcome)) void Promise.resolve(outcome).then(undefined, failed);
  } catch (error) {
    failed(error);
  }
}

/** The error, and where it was thrown, since nothing else leads to the listener. */
export function textOf(error: unknown): string {
  try {
    return `${String(error)}${placeOf(error)}`;
  } catch {
    return 'a value without a text';
  }
}

/** The innermost stack frame. */
function placeOf(error: unknown): string {
  const stack: unknown = error instanceof Error ? error.stack : undefined;
  const [, place] = (typeof stack === 'string' ? /\n\s+(at [^\n]+)/.exec(stack) : null) ?? [];
  return place === undefined ? '' : `, ${place}`;
}
