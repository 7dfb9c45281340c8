import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
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

/** The metrics of locks in a registry of prom-client. */
export class LockCollectors implements MetricRecorder {
  private readonly histograms = new Map<MetricName, Histogram>();
  private readonly counters = new Map<MetricName, Counter>();
  private readonly names: string[] = [];

  constructor(private readonly registry: Registry) {}

  /** @param services those of which gauges tell when they are asked */
  register(services: () => readonly LockService[]): void {
    for (const [key, metric] of Object.entries(METRICS) as [MetricName, Metric][]) {
      const name = prometheusName(metric);
      const labelNames = metric.attributes.map(labelOf);
      const config = { name, help: metric.description, labelNames, registers: [this.registry] };
      if (metric.kind === 'histogram') {
        this.histograms.set(key, new Histogram({ ...config, buckets: [...BUCKETS] }));
      } else if (metric.kind === 'counter') this.counters.set(key, new Counter(config));
      else {
        new Gauge({
          ...config,
          collect() {
            this.reset();
            for (const { value, attributes } of readGauge(key as GaugeName, services())) {
              this.set(labelsOf(attributes), value);
            }
          },
        });
      }
      this.names.push(name);
    }
  }

  remove(): void {
    for (const name of this.names.splice(0)) this.registry.removeSingleMetric(name);
  }

  record(metric: MetricName, value: number, attributes: MetricAttributes): void {
    const labels = labelsOf(attributes);
    this.histograms.get(metric)?.observe(labels, value);
    this.counters.get(metric)?.inc(labels, value);
  }
}

/** `distributed_lock.hold.duration` in seconds → `distributed_lock_hold_duration_seconds`; counters end with `_total`. */
function prometheusName({ name, unit, kind }: Metric): string {
  const base = name.replaceAll('.', '_');
  const withUnit = unit === 's' ? `${base}_seconds` : base;
  return kind === 'counter' ? `${withUnit}_total` : withUnit;
}

function labelOf(attribute: string): string {
  return attribute.replaceAll('.', '_');
}

function labelsOf(attributes: MetricAttributes): Record<string, string> {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [labelOf(name), value]));
}
