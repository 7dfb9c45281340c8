import {
  metrics as globalMetrics,
  type Attributes,
  type BatchObservableCallback,
  type Counter,
  type Histogram,
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
  type Series,
} from '../instruments/metrics.js';

/** The name of the instrumentation scope, of metrics and spans. */
export const INSTRUMENTATION = 'nestjs-distributed-lock';

/** Keeps the metrics of locks as instruments of a meter. */
export class LockMeters implements MetricRegistry {
  private readonly meter: Meter;
  private readonly histograms = new Map<RecordedMetric, Histogram>();
  private readonly counters = new Map<RecordedMetric, Counter>();
  private readonly observables = new Map<ObservedMetric, Observable>();

  constructor(
    provider: MeterProvider | undefined,
    private readonly gauges: LockGauges,
  ) {
    this.meter = (provider ?? globalMetrics).getMeter(INSTRUMENTATION);
    for (const [key, metric] of Object.entries(RECORDED) as [RecordedMetric, Metric][]) {
      const { name, description, unit, kind } = metric;
      if (kind === 'counter') this.counters.set(key, this.meter.createCounter(name, { description, unit }));
      else {
        const advice = { explicitBucketBoundaries: [...BUCKETS] };
        this.histograms.set(key, this.meter.createHistogram(name, { description, unit, advice }));
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

  series(metric: RecordedMetric, given: MetricAttributes): Series {
    const attributes = attributesOf(given);
    const histogram = this.histograms.get(metric);
    if (histogram !== undefined) {
      return (value) => {
        histogram.record(value, attributes);
      };
    }
    const counter = this.counters.get(metric);
    return (value) => {
      counter?.add(value, attributes);
    };
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
