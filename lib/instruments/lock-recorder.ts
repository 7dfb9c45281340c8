import {
  acquireChannel,
  eventChannel,
  requestChannel,
  type AcquireTrace,
  type LockEventMessage,
  type StoreRequestMessage,
} from '../model/lock-channels.js';
import type { LockLostReason } from '../model/lock.errors.js';
import {
  instanceOf,
  type MetricKind,
  type MetricAttributes,
  type MetricRegistry,
  type RecordedMetric,
  type Series,
} from './metrics.js';
import { subscribeTo } from './sources.js';

const LOSSES: readonly LockLostReason[] = ['expired', 'taken', 'unreachable'];

/** Records the events of this process's locks. */
export class LockRecorder {
  /** Bounded: a process has at most 200 names, and few values of everything else. */
  private readonly known = new Map<string, Series>();

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
    const { instance, operation, mode, outcome = 'granted', error, duration = 0 } = message as AcquireTrace;
    // A skipped or aborted call has not failed, and the reason of an abort can be any value.
    const type = outcome === 'granted' || outcome === 'skipped' || outcome === 'aborted' ? '' : typeOf(error);
    const record = this.seriesOf(`acquire ${outcome} ${type}`, instance, { operation, mode }, () => {
      const attributes = { ...instanceOf(instance), operation, mode };
      if (outcome === 'granted') this.createCounters(attributes);
      return this.registry.series('acquireDuration', {
        ...attributes,
        outcome,
        ...(type !== '' && { 'error.type': type }),
      });
    });
    record(duration / 1_000);
  };

  private readonly onEvent = (message: unknown): void => {
    const { instance, event } = message as LockEventMessage;
    const { type } = event;
    // A hold whose loss only its release showed has been recorded as released.
    if (type === 'released' || (type === 'lost' && !event.afterRelease)) {
      const record = this.lockSeries('holdDuration', instance, event, { outcome: type });
      record(event.heldFor / 1_000);
    }
    if (type === 'lost') this.lockSeries('losses', instance, event, { reason: event.reason })(1);
    if (type === 'renewal-failed') this.lockSeries('renewalFailures', instance, event, {})(1);
  };

  private readonly onRequest = (message: unknown): void => {
    const { instance, request, duration, error } = message as StoreRequestMessage;
    const type = error === undefined ? '' : typeOf(error);
    const record = this.seriesOf(`request ${request} ${type}`, instance, undefined, () =>
      this.registry.series('requestDuration', {
        ...instanceOf(instance),
        request,
        ...(type !== '' && { 'error.type': type }),
      }),
    );
    record(duration / 1_000);
  };

  /** Creates the counters with the first hold, at 0: a counter that starts at 1 shows no increase. */
  private createCounters(attributes: MetricAttributes): void {
    for (const reason of LOSSES) this.registry.series('losses', { ...attributes, reason })(0);
    this.registry.series('renewalFailures', attributes)(0);
  }

  private lockSeries(
    metric: RecordedMetric,
    instance: string | undefined,
    { operation, mode }: MetricKind,
    attributes: MetricAttributes,
  ): Series {
    const what = `${metric} ${attributes.outcome ?? attributes.reason ?? ''}`;
    return this.seriesOf(what, instance, { operation, mode }, () =>
      this.registry.series(metric, { ...instanceOf(instance), operation, mode, ...attributes }),
    );
  }

  private seriesOf(
    what: string,
    instance: string | undefined,
    kind: MetricKind | undefined,
    create: () => Series,
  ): Series {
    // Operations and instances may contain any printable character, but no line break.
    const id = `${what}\n${kind?.mode ?? ''}\n${kind?.operation ?? ''}\n${instance ?? ''}`;
    let series = this.known.get(id);
    if (series === undefined) {
      series = create();
      this.known.set(id, series);
    }
    return series;
  }
}

/** The class name of an error. A custom store may reject with any value. */
function typeOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
