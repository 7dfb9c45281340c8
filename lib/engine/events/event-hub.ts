import type { Observable, Subscriber } from 'rxjs';
import type { LockEvent } from '../../model/lock.events.js';
import type { EngineLog } from './engine-log.js';
import { GuardedObservable } from './guarded-events.js';
import { textOf } from './listener-call.js';
import { OwnContext } from '../../common/own-context.js';
import { eventChannel, type LockEventMessage } from '../../model/lock-channels.js';

/** Hands events to whoever subscribed. Nothing that a listener does reaches the engine or ends the process. */
export class EventHub {
  readonly events: Observable<LockEvent>;
  private readonly subscribers = new Set<Subscriber<LockEvent>>();
  /** In which listeners are called. */
  readonly context = new OwnContext();
  /** How many they are, for those who ask with each hold. */
  private listeners = 0;
  private isOver = false;

  /** @param instance the name of the module instance, for those who listen to all of the process */
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
      this.listeners = this.subscribers.size;
      return () => {
        this.subscribers.delete(subscriber);
        this.listeners = this.subscribers.size;
      };
    });
  }

  /** Whether an event would reach anybody: whoever makes one may ask first. */
  get observed(): boolean {
    return this.listeners > 0 || eventChannel.hasSubscribers;
  }

  emit(event: LockEvent): void {
    if (eventChannel.hasSubscribers) this.context.call(this.publish, event);
    if (this.listeners > 0) this.context.call(this.tellAll, event);
  }

  /** No more events: whoever subscribes from now on is told so at once. */
  complete(): void {
    this.isOver = true;
    if (this.listeners > 0) this.context.call(this.tellAll, undefined);
  }

  private readonly publish = (event: LockEvent): void => {
    eventChannel.publish({ instance: this.instance, event } satisfies LockEventMessage);
  };

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
