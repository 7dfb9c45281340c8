import { Observable, Subscriber, type Observer, type Subscription } from 'rxjs';
import { callListener, textOf } from './listener-call.js';

type Listener<T> = Partial<Observer<T>> | ((value: T) => void);
type Warn = (message: string) => void;

/** What operators call on their source, and what some of them put in its place. */
interface Source {
  readonly source?: Source;
  lift(operator: unknown): Observable<unknown>;
  subscribe(listener: unknown, error?: unknown, complete?: unknown): Subscription;
  pipe(...operators: readonly unknown[]): unknown;
}

const plain = Observable.prototype as unknown as Source;

/**
 * An Observable whose listeners can't end the process: rxjs throws what a listener throws, and an error that nobody
 * handles, from a timer. Here both become a line in the log. So it is with whatever operators make of it: `lift` guards
 * what most of them return, and `pipe` what the others do.
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
    // Operators, and what makes promises, subscribe with a Subscriber, which passes errors on by itself.
    if (listener instanceof Subscriber) return super.subscribe(listener);
    const given =
      typeof listener === 'function' || !listener ? { next: listener, error, complete } : listener;
    return super.subscribe(new Guard(guardedObserver(given, this.warn)).of(this.warn));
  }
}

// Not in the class, where `pipe` would need an overload for each number of operators.
Object.defineProperties(GuardedObservable.prototype, {
  lift: {
    configurable: true,
    writable: true,
    value(this: Source, operator: unknown): unknown {
      return guarded(plain.lift.call(this, operator), warnOf(this));
    },
  },
  pipe: {
    configurable: true,
    writable: true,
    value(this: Source, ...operators: readonly unknown[]): unknown {
      return guarded(plain.pipe.apply(this, [...operators]), warnOf(this));
    },
  },
});

/** Its end, too, can throw: what tears a subscription down is the user's. */
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
      this.warn?.(`What ends a subscription to lock events threw: ${textOf(error)}`);
    }
  }
}

/** Its constructor is rxjs's own, which is for those who know what an observer has to have. */
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
        warn(`A subscription to lock events ended with an error that nobody handles: ${textOf(reason)}`);
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

/** What operators made of guarded events. */
function guarded(result: unknown, warn: Warn | undefined): unknown {
  if (!(result instanceof Observable) || result instanceof GuardedObservable || warn === undefined)
    return result;
  const made: Observable<unknown> = result;
  const subscribe = (made as Source).subscribe.bind(made);
  const guard = new GuardedObservable<unknown>(warn, subscribe);
  if (!('connect' in made)) return guard;
  // One that is connected by hand: it is a new one for each call.
  return Object.defineProperty(made, 'subscribe', { value: guard.subscribe.bind(guard) });
}

/** That of the source, for an Observable that took `lift` over from it. */
function warnOf(observable: Source): Warn | undefined {
  if (observable instanceof GuardedObservable) return observable.warn;
  return observable.source === undefined ? undefined : warnOf(observable.source);
}

/** An event by its type; operators may have made anything else of it. */
function nameOf(value: unknown): string {
  const isEvent = typeof value === 'object' && value !== null && 'type' in value;
  return isEvent && typeof value.type === 'string' ? `"${value.type}"` : 'a value';
}
