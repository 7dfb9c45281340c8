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
  moduleOf,
  type MetricAttributes,
  type MetricRegistry,
  type RecordedMetric,
  type Series,
} from './metrics.js';
import { Subscriptions } from './subscriptions.js';

const LOSSES: readonly LockLostReason[] = ['expired', 'taken', 'unreachable'];

/** What kind of lock something is about. */
interface Kind {
  readonly name: string;
  readonly mode: 'exclusive' | 'shared';
}

/** Records what happens to the locks of this process, from the moment at which it starts until it stops. */
export class LockRecorder {
  /** By what tells them apart: there are at most 200 names, and few of everything else. */
  private readonly known = new Map<string, Series>();

  constructor(private readonly registry: MetricRegistry) {}

  start(): void {
    this.subscriptions.start();
  }

  stop(): void {
    this.subscriptions.stop();
  }

  private readonly onAcquired = (message: unknown): void => {
    const { instance, name, mode, outcome = 'granted', error, duration = 0 } = message as AcquireTrace;
    // Who aborts a call may do so with anything; who skips a lock, or gets it, has not failed.
    const type = outcome === 'granted' || outcome === 'skipped' || outcome === 'aborted' ? '' : typeOf(error);
    const record = this.seriesOf(`acquire ${outcome} ${type}`, instance, { name, mode }, () => {
      const attributes = { ...moduleOf(instance), name, mode };
      // There from the first hold on, since a counter whose first value is 1 has not risen.
      if (outcome === 'granted') this.beginCounters(attributes);
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
    if (type === 'released' || type === 'lost') {
      const record = this.ofKind('holdDuration', instance, event, { outcome: type });
      record(event.heldFor / 1_000);
    }
    if (type === 'lost') this.ofKind('losses', instance, event, { reason: event.reason })(1);
    if (type === 'renewal-failed') this.ofKind('renewalFailures', instance, event, {})(1);
  };

  private readonly onRequest = (message: unknown): void => {
    const { instance, operation, duration, error } = message as StoreRequestMessage;
    const type = error === undefined ? '' : typeOf(error);
    const record = this.seriesOf(`request ${operation} ${type}`, instance, undefined, () =>
      this.registry.series('requestDuration', {
        ...moduleOf(instance),
        operation,
        ...(type !== '' && { 'error.type': type }),
      }),
    );
    record(duration / 1_000);
  };

  private readonly subscriptions = new Subscriptions([
    [acquireChannel.asyncEnd, this.onAcquired],
    [eventChannel, this.onEvent],
    [requestChannel, this.onRequest],
  ]);

  private beginCounters(attributes: MetricAttributes): void {
    for (const reason of LOSSES) this.registry.series('losses', { ...attributes, reason })(0);
    this.registry.series('renewalFailures', attributes)(0);
  }

  private ofKind(
    metric: RecordedMetric,
    instance: string | undefined,
    { name, mode }: Kind,
    attributes: MetricAttributes,
  ): Series {
    const what = `${metric} ${attributes.outcome ?? attributes.reason ?? ''}`;
    return this.seriesOf(what, instance, { name, mode }, () =>
      this.registry.series(metric, { ...moduleOf(instance), name, mode, ...attributes }),
    );
  }

  /** Names and instances may have any printable characters in them. */
  private seriesOf(
    what: string,
    instance: string | undefined,
    kind: Kind | undefined,
    make: () => Series,
  ): Series {
    const id = `${what}\n${kind?.mode ?? ''}\n${kind?.name ?? ''}\n${instance ?? ''}`;
    let series = this.known.get(id);
    if (series === undefined) {
      series = make();
      this.known.set(id, series);
    }
    return series;
  }
}

/** The name of an error's class. A store of the user's may fail with anything. */
function typeOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
