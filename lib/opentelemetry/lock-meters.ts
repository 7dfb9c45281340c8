import {
  metrics as globalMetrics,
  type Attributes,
  type Counter,
  type Histogram,
  type MeterProvider,
  type Observable,
  type ObservableCallback,
} from '@opentelemetry/api';
import type { LockService } from '../api/lock.service.js';
import { readGauge, type GaugeName } from '../instruments/lock-gauges.js';
import {
  BUCKETS,
  METRICS,
  type Metric,
  type MetricAttributes,
  type MetricName,
  type MetricRecorder,
} from '../instruments/metrics.js';
import { INSTRUMENTATION } from './instrumentation.js';

/** Those of which the sum over processes means something. */
const SUMS: ReadonlySet<MetricName> = new Set<MetricName>(['active', 'waiting']);

/** The metrics of locks as instruments of a meter. */
export class LockMeters implements MetricRecorder {
  private readonly histograms = new Map<MetricName, Histogram>();
  private readonly counters = new Map<MetricName, Counter>();
  private readonly observed: (readonly [Observable, ObservableCallback])[] = [];

  /** @param services those of which gauges tell when they are asked */
  constructor(provider: MeterProvider | undefined, services: () => readonly LockService[]) {
    const meter = (provider ?? globalMetrics).getMeter(INSTRUMENTATION);
    for (const [key, metric] of Object.entries(METRICS) as [MetricName, Metric][]) {
      const { name, description, unit, kind } = metric;
      const options = { description, unit };
      if (kind === 'histogram') {
        const advice = { explicitBucketBoundaries: [...BUCKETS] };
        this.histograms.set(key, meter.createHistogram(name, { ...options, advice }));
      } else if (kind === 'counter') this.counters.set(key, meter.createCounter(name, options));
      else {
        const gauge = SUMS.has(key)
          ? meter.createObservableUpDownCounter(name, options)
          : meter.createObservableGauge(name, options);
        const observe: ObservableCallback = (result) => {
          for (const { value, attributes } of readGauge(key as GaugeName, services())) {
            result.observe(value, attributesOf(attributes));
          }
        };
        gauge.addCallback(observe);
        this.observed.push([gauge, observe]);
      }
    }
  }

  record(metric: MetricName, value: number, attributes: MetricAttributes): void {
    this.histograms.get(metric)?.record(value, attributesOf(attributes));
    this.counters.get(metric)?.add(value, attributesOf(attributes));
  }

  stop(): void {
    for (const [gauge, observe] of this.observed.splice(0)) gauge.removeCallback(observe);
  }
}

/** `error.type` is a name of OpenTelemetry's own; the others are ours. */
function attributesOf(attributes: MetricAttributes): Attributes {
  const named = Object.entries(attributes).map(([name, value]): [string, string] => [
    name === 'error.type' ? name : `distributed_lock.${name}`,
    value,
  ]);
  return Object.fromEntries(named);
}
