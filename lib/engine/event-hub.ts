import { Observable, Subscriber, type Observer, type Subscription } from 'rxjs';
import type { LockEvent } from '../lock.events.js';
import { outsideScopes } from './scope.js';

type Listener = Partial<Observer<LockEvent>> | ((event: LockEvent) => void);

/**
 * Hands events to whoever subscribed. A listener that throws is reported to the log and keeps its subscription; it
 * neither reaches the engine nor ends the process, as an error in an rxjs observer otherwise would.
 */
export class EventHub {
  private readonly subscribers = new Set<Subscriber<LockEvent>>();
  readonly events: Observable<LockEvent>;

  constructor(warn: (message: string) => void) {
    this.events = new GuardedEvents((subscriber) => {
      this.subscribers.add(subscriber);
      return () => this.subscribers.delete(subscriber);
    }, warn);
  }

  /** Whether an event would reach anybody: whoever makes one may ask first. */
  get observed(): boolean {
    return this.subscribers.size > 0;
  }

  emit(event: LockEvent): void {
    outsideScopes(() => {
      for (const subscriber of [...this.subscribers]) subscriber.next(event);
    });
  }

  complete(): void {
    for (const subscriber of [...this.subscribers]) subscriber.complete();
  }
}

class GuardedEvents extends Observable<LockEvent> {
  constructor(
    subscribe: (subscriber: Subscriber<LockEvent>) => () => void,
    private readonly warn: (message: string) => void,
  ) {
    super(subscribe);
  }

  override subscribe(
    listener?: Listener | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    // Operators subscribe with a Subscriber, which passes errors on by itself.
    if (listener instanceof Subscriber) return super.subscribe(listener);
    const observer =
      typeof listener === 'function' || !listener ? { next: listener, error, complete } : listener;
    return super.subscribe({
      next: (event) => {
        try {
          observer.next?.(event);
        } catch (error) {
          this.warn(`A listener of lock events threw on "${event.type}": ${String(error)}`);
        }
      },
      error: (reason: unknown) => observer.error?.(reason),
      complete: () => observer.complete?.(),
    });
  }
}
