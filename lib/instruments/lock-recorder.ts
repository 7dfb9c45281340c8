import {
  acquireChannel,
  eventChannel,
  requestChannel,
  type AcquireTrace,
  type LockEventMessage,
  type StoreRequestMessage,
} from '../model/lock-channels.js';
import type { LockEvent } from '../model/lock.events.js';
import type { MetricAttributes, MetricRecorder } from './metrics.js';

/** Records what happens to the locks of this process, from the moment at which it starts until it stops. */
export class LockRecorder {
  private readonly startedAt = new WeakMap<object, number>();

  constructor(private readonly recorder: MetricRecorder) {}

  start(): void {
    acquireChannel.start.subscribe(this.onAcquire);
    acquireChannel.asyncEnd.subscribe(this.onAcquired);
    eventChannel.subscribe(this.onEvent);
    requestChannel.subscribe(this.onRequest);
  }

  stop(): void {
    acquireChannel.start.unsubscribe(this.onAcquire);
    acquireChannel.asyncEnd.unsubscribe(this.onAcquired);
    eventChannel.unsubscribe(this.onEvent);
    requestChannel.unsubscribe(this.onRequest);
  }

  private readonly onAcquire = (message: unknown): void => {
    this.startedAt.set(message as AcquireTrace, performance.now());
  };

  private readonly onAcquired = (message: unknown): void => {
    const trace = message as AcquireTrace;
    const startedAt = this.startedAt.get(trace);
    if (startedAt === undefined) return;
    const { instance, name, mode, outcome = 'granted', error } = trace;
    const type = outcome === 'granted' || outcome === 'skipped' ? undefined : typeOf(error);
    const seconds = (performance.now() - startedAt) / 1_000;
    const attributes = { ...moduleOf(instance), name, mode, outcome };
    this.recorder.record('acquireDuration', seconds, {
      ...attributes,
      ...(type !== undefined && { 'error.type': type }),
    });
  };

  private readonly onEvent = (message: unknown): void => {
    const { instance, event } = message as LockEventMessage;
    if (event.type === 'released' || event.type === 'lost') {
      const attributes = { ...attributesOf(instance, event), outcome: event.type };
      this.recorder.record('holdDuration', event.heldFor / 1_000, attributes);
    }
    if (event.type === 'lost') {
      this.recorder.record('losses', 1, { ...attributesOf(instance, event), reason: event.reason });
    }
    if (event.type === 'renewal-failed') {
      this.recorder.record('renewalFailures', 1, attributesOf(instance, event));
    }
  };

  private readonly onRequest = (message: unknown): void => {
    const { instance, operation, duration, error } = message as StoreRequestMessage;
    this.recorder.record('requestDuration', duration / 1_000, {
      ...moduleOf(instance),
      operation,
      ...(error !== undefined && { 'error.type': typeOf(error) }),
    });
  };
}

function attributesOf(
  instance: string | undefined,
  { name, mode }: Extract<LockEvent, { readonly name: string }>,
): MetricAttributes {
  return { ...moduleOf(instance), name, mode };
}

/** The default module has no name, and no attribute. */
export function moduleOf(instance: string | undefined): MetricAttributes {
  return instance === undefined ? {} : { module: instance };
}

/** The name of an error's class. A signal may abort with anything. */
function typeOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
