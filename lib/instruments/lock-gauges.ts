import type { LockService } from '../api/lock.service.js';
import { moduleOf, type MetricAttributes, type ObservedMetric } from './metrics.js';

/** The value of one series of a gauge. */
export interface GaugeValue {
  readonly metric: ObservedMetric;
  readonly value: number;
  readonly attributes: MetricAttributes;
}

/** What kinds of locks there are in one module instance. */
interface Kind {
  readonly name: string;
  readonly mode: 'exclusive' | 'shared';
}

/** What a process has of locks now, for those who ask. */
export class LockGauges {
  /** Kinds that were counted before: what is over counts 0, and does not vanish. There are at most 200 names. */
  private readonly seen = new Map<string, Map<string, Kind>>();
  private values: readonly GaugeValue[] | undefined;

  /** @param services those that the application has at that time */
  constructor(private readonly services: () => readonly LockService[]) {}

  /** All gauges. Who asks for one after the other, as Prometheus does, gets what there was at the first. */
  read(): readonly GaugeValue[] {
    if (this.values === undefined) {
      this.values = this.services().flatMap((service) => this.valuesOf(service));
      queueMicrotask(() => {
        this.values = undefined;
      });
    }
    return this.values;
  }

  private valuesOf(service: LockService): readonly GaugeValue[] {
    const { instance, longestWait, leastRemaining, degraded } = service.status();
    const attributes = moduleOf(instance);
    const margin = leastRemaining === undefined ? [] : [leastRemaining / 1_000];
    return [
      ...this.counted('active', service.held(), attributes),
      ...this.counted('waiting', service.waiting(), attributes),
      { metric: 'oldestWait', value: longestWait / 1_000, attributes },
      ...margin.map((value): GaugeValue => ({ metric: 'leaseMargin', value, attributes })),
      { metric: 'degraded', value: degraded ? 1 : 0, attributes },
    ];
  }

  private counted(
    metric: 'active' | 'waiting',
    uses: readonly Kind[],
    attributes: MetricAttributes,
  ): readonly GaugeValue[] {
    const kinds = this.kindsOf(`${metric} ${attributes.module ?? ''}`);
    const counts = new Map<string, number>();
    for (const { name, mode } of uses) {
      const id = `${mode} ${name}`;
      if (!kinds.has(id)) kinds.set(id, { name, mode });
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return [...kinds].map(([id, kind]) => ({
      metric,
      value: counts.get(id) ?? 0,
      attributes: { ...attributes, ...kind },
    }));
  }

  private kindsOf(gauge: string): Map<string, Kind> {
    let kinds = this.seen.get(gauge);
    if (kinds === undefined) {
      // One series from the start on: what is not there can't be told from what is not measured.
      kinds = new Map([['exclusive default', { name: 'default', mode: 'exclusive' }]]);
      this.seen.set(gauge, kinds);
    }
    return kinds;
  }
}
