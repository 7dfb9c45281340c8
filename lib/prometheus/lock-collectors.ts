import {
  Counter,
  Gauge,
  Histogram,
  register as defaultRegister,
  type OpenMetricsContentType,
  type Registry,
} from 'prom-client';
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
import { LockOptionsError } from '../model/lock.errors.js';

export type AnyRegistry = Registry | Registry<OpenMetricsContentType>;

/** Keeps the metrics of locks in a registry of prom-client. */
export class LockCollectors implements MetricRegistry {
  private readonly recorded = new Map<RecordedMetric, Histogram | Counter>();
  private readonly names: string[] = [];

  constructor(private readonly registry: AnyRegistry = defaultRegister) {}

  /** @throws LockOptionsError if the registry already has a metric of one of these names */
  register(gauges: LockGauges): void {
    for (const metric of [...Object.values(RECORDED), ...Object.values(OBSERVED)]) {
      const name = prometheusName(metric);
      if (this.registry.getSingleMetric(name) === undefined) continue;
      throw new LockOptionsError(
        `LockPrometheusModule: the registry has a metric ${name} already. Import the module once, into the root module, ` +
          'or give each application of the process its own registry: forRoot({ register: new Registry() }).',
      );
    }
    for (const [key, metric] of Object.entries(RECORDED) as [RecordedMetric, Metric][]) {
      const config = { ...this.configOf(metric), buckets: [...BUCKETS] };
      this.recorded.set(key, metric.kind === 'histogram' ? new Histogram(config) : new Counter(config));
    }
    for (const [key, metric] of Object.entries(OBSERVED) as [ObservedMetric, Metric][]) {
      new Gauge({
        ...this.configOf(metric),
        collect() {
          this.reset();
          for (const { metric: read, value, attributes } of gauges.read()) {
            if (read === key) this.set(labelsOf(attributes), value);
          }
        },
      });
    }
  }

  /** Removes the metrics from the registry. */
  remove(): void {
    for (const name of this.names.splice(0)) this.registry.removeSingleMetric(name);
  }

  record(metric: RecordedMetric, attributes: MetricAttributes, value: number): void {
    const collector = this.recorded.get(metric);
    if (collector instanceof Histogram) collector.observe(labelsOf(attributes), value);
    else collector?.inc(labelsOf(attributes), value);
  }

  private configOf(metric: Metric) {
    const name = prometheusName(metric);
    this.names.push(name);
    return {
      name,
      help: metric.description,
      labelNames: metric.attributes.map(labelOf),
      registers: [this.registry],
    };
  }
}

/** `distributed_lock.hold.duration` in seconds becomes `distributed_lock_hold_duration_seconds`; counters end with `_total`. */
function prometheusName({ name, unit, kind }: Metric): string {
  const base = name.replaceAll('.', '_');
  const withUnit = unit === 's' ? `${base}_seconds` : base;
  return kind === 'counter' ? `${withUnit}_total` : withUnit;
}

/** Prometheus sets a label `instance` itself. */
function labelOf(attribute: string): string {
  return attribute === 'instance' ? 'lock_instance' : attribute.replaceAll('.', '_');
}

function labelsOf(attributes: MetricAttributes): Record<string, string> {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [labelOf(name), value]));
}
