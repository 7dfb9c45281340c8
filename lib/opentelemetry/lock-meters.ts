import {
  metrics as globalMetrics,
  type Attributes,
  type BatchObservableCallback,
  type Meter,
  type MeterProvider,
  type Observable,
} from '@opentelemetry/api';
import type { LockGauges } from '../instruments/lock-gauges.js';
import {
  BUCKETS,
  OBSERVED,
  RECORDED,
  type Metric,
  type MetricAttributes,
  type MetricRegistry,
  type ObservedMetric,
  type RecordedMetric,
} from '../instruments/metrics.js';

/** The name of the instrumentation scope, of metrics and spans. */
export const INSTRUMENTATION = 'nestjs-distributed-lock';

/** Keeps the metrics of locks as instruments of a meter. */
export class LockMeters implements MetricRegistry {
  private readonly meter: Meter;
  private readonly recorders = new Map<RecordedMetric, (value: number, attributes: Attributes) => void>();
  private readonly observables = new Map<ObservedMetric, Observable>();

  constructor(
    provider: MeterProvider | undefined,
    private readonly gauges: LockGauges,
  ) {
    this.meter = (provider ?? globalMetrics).getMeter(INSTRUMENTATION);
    for (const [key, metric] of Object.entries(RECORDED) as [RecordedMetric, Metric][]) {
      const { name, description, unit, kind } = metric;
      if (kind === 'counter') {
        const counter = this.meter.createCounter(name, { description, unit });
        this.recorders.set(key, counter.add.bind(counter));
      } else {
        const advice = { explicitBucketBoundaries: [...BUCKETS] };
        const histogram = this.meter.createHistogram(name, { description, unit, advice });
        this.recorders.set(key, histogram.record.bind(histogram));
      }
    }
    for (const [key, metric] of Object.entries(OBSERVED) as [ObservedMetric, Metric][]) {
      const { name, description, unit, kind } = metric;
      const options = { description, unit };
      this.observables.set(
        key,
        kind === 'sum'
          ? this.meter.createObservableUpDownCounter(name, options)
          : this.meter.createObservableGauge(name, options),
      );
    }
    this.meter.addBatchObservableCallback(this.observe, [...this.observables.values()]);
  }

  record(metric: RecordedMetric, attributes: MetricAttributes, value: number): void {
    this.recorders.get(metric)?.(value, attributesOf(attributes));
  }

  stop(): void {
    this.meter.removeBatchObservableCallback(this.observe, [...this.observables.values()]);
  }

  private readonly observe: BatchObservableCallback = (result) => {
    for (const { metric, value, attributes } of this.gauges.read()) {
      const observable = this.observables.get(metric);
      if (observable !== undefined) result.observe(observable, value, attributesOf(attributes));
    }
  };
}

/** `error.type` is a name that OpenTelemetry defines; the others get the prefix of this library. */
function attributesOf(attributes: MetricAttributes): Attributes {
  const named = Object.entries(attributes).map(([name, value]): [string, string] => [
    name === 'error.type' ? name : `distributed_lock.${name}`,
    value,
  ]);
  return Object.fromEntries(named);
}
