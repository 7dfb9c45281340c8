import type { Observable, Subscriber } from 'rxjs';
import type { LockEvent } from '../../model/lock.events.js';
import type { EngineLog } from './engine-log.js';
import { GuardedObservable } from './guarded-events.js';
import { textOf } from './listener-call.js';
import { OwnContext } from '../../common/own-context.js';

/** Hands events to whoever subscribed. Nothing that a listener does reaches the engine or ends the process. */
export class EventHub {
  readonly events: Observable<LockEvent>;
  private readonly subscribers = new Set<Subscriber<LockEvent>>();
  /** In which listeners are called. */
  readonly context = new OwnContext();
  private isOver = false;

  constructor(private readonly log: EngineLog) {
    const warn = (message: string): void => {
      log.warn(message);
    };
    this.events = new GuardedObservable<LockEvent>(warn, (subscriber) => {
      if (this.isOver) subscriber.complete();
      else this.subscribers.add(subscriber);
      return () => this.subscribers.delete(subscriber);
    });
  }

  /** Whether an event would reach anybody: whoever makes one may ask first. */
  get observed(): boolean {
    return this.subscribers.size > 0;
  }

  emit(event: LockEvent): void {
    if (this.subscribers.size > 0) this.context.call(this.tellAll, event);
  }

  /** No more events: whoever subscribes from now on is told so at once. */
  complete(): void {
    this.isOver = true;
    if (this.subscribers.size > 0) this.context.call(this.tellAll, undefined);
  }

  /** Without an event: that there will be no more. */
  private readonly tellAll = (event: LockEvent | undefined): void => {
    for (const subscriber of [...this.subscribers]) {
      try {
        if (event === undefined) subscriber.complete();
        else subscriber.next(event);
      } catch (error) {
        // Of an operator, such as what it does at the end.
        this.log.warn(`A listener of lock events threw: ${textOf(error)}`);
      }
    }
  };
}
