import {
  acquireChannel,
  eventChannel,
  requestChannel,
  type AcquireTrace,
  type LockEventMessage,
  type StoreRequestMessage,
} from '../model/lock-channels.js';
import type { LockLostReason } from '../model/lock.errors.js';
import { instanceOf, type MetricAttributes, type MetricKind, type MetricRegistry } from './metrics.js';
import { subscribeTo } from './sources.js';

const LOSSES: readonly LockLostReason[] = ['expired', 'taken', 'unreachable'];

/** Records the events of this process's locks. */
export class LockRecorder {
  /** The kinds of locks that have counters. Bounded: a process has at most 200 names. */
  private readonly counted = new Set<string>();

  constructor(private readonly registry: MetricRegistry) {}

  /** Returns a function that stops it. */
  start(): () => void {
    return subscribeTo(
      [acquireChannel.asyncEnd, this.onAcquired],
      [eventChannel, this.onEvent],
      [requestChannel, this.onRequest],
    );
  }

  private readonly onAcquired = (message: unknown): void => {
    const trace = message as AcquireTrace;
    const { instance, outcome = 'granted', error, duration = 0 } = trace;
    const attributes = attributesOf(instance, trace);
    if (outcome === 'granted') this.createCounters(attributes);
    // A skipped or aborted call has not failed, and the reason of an abort can be any value.
    const hasFailed = outcome !== 'granted' && outcome !== 'skipped' && outcome !== 'aborted';
    const type = hasFailed ? typeOf(error) : {};
    this.registry.record('acquireDuration', { ...attributes, outcome, ...type }, duration / 1_000);
  };

  private readonly onEvent = (message: unknown): void => {
    const { instance, event } = message as LockEventMessage;
    const { type } = event;
    if (type !== 'released' && type !== 'lost' && type !== 'renewal-failed') return;
    const attributes = attributesOf(instance, event);
    // A hold whose loss only its release showed has been recorded as released.
    if (type === 'released' || (type === 'lost' && !event.afterRelease)) {
      this.registry.record('holdDuration', { ...attributes, outcome: type }, event.heldFor / 1_000);
    }
    if (type === 'lost') this.registry.record('losses', { ...attributes, reason: event.reason }, 1);
    if (type === 'renewal-failed') this.registry.record('renewalFailures', attributes, 1);
  };

  private readonly onRequest = (message: unknown): void => {
    const { instance, request, duration, error } = message as StoreRequestMessage;
    const type = error === undefined ? {} : typeOf(error);
    this.registry.record('requestDuration', { ...instanceOf(instance), request, ...type }, duration / 1_000);
  };

  /** Creates the counters with the first hold, at 0: a counter that starts at 1 shows no increase. */
  private createCounters(attributes: MetricAttributes): void {
    const id = JSON.stringify(attributes);
    if (this.counted.has(id)) return;
    this.counted.add(id);
    for (const reason of LOSSES) this.registry.record('losses', { ...attributes, reason }, 0);
    this.registry.record('renewalFailures', attributes, 0);
  }
}

function attributesOf(instance: string | undefined, { operation, mode }: MetricKind): MetricAttributes {
  return { ...instanceOf(instance), operation, mode };
}

/** The class name of an error. A custom store may reject with any value. */
function typeOf(error: unknown): MetricAttributes {
  return { 'error.type': error instanceof Error ? error.name : typeof error };
}
