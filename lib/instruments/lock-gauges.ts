import type { LockAdmin } from '../api/lock-admin.js';
import type { HeldLock, WaitingCall } from '../model/lock-status.js';
import { instanceOf, type MetricKind, type MetricAttributes, type ObservedMetric } from './metrics.js';

/** The value of one series of a gauge. */
export interface GaugeValue {
  readonly metric: ObservedMetric;
  readonly value: number;
  readonly attributes: MetricAttributes;
}

/** Reads the current state of this process's locks. */
export class LockGauges {
  /** Kinds counted before: their series drop to 0 instead of vanishing. A process has at most 200 names. */
  private readonly seen = new Map<string, Map<string, MetricKind>>();
  /** By instance and operation, including those used before. */
  private readonly semaphores = new Map<string, Map<string, { held: number; limits: Map<string, number> }>>();
  private values: readonly GaugeValue[] | undefined;

  /** @param admins called at each reading */
  constructor(private readonly admins: () => readonly LockAdmin[]) {}

  /** All gauges. Calls of one tick use one reading, since Prometheus collects one gauge after the other. */
  read(): readonly GaugeValue[] {
    if (this.values === undefined) {
      this.values = this.admins().flatMap((admin) => this.valuesOf(admin));
      queueMicrotask(() => (this.values = undefined));
    }
    return this.values;
  }

  private valuesOf(admin: LockAdmin): readonly GaugeValue[] {
    const { instance, longestWait, leastRemaining, local } = admin.status();
    const attributes = instanceOf(instance);
    const [held, waiting] = [admin.held(), admin.waiting()];
    const values: GaugeValue[] = [
      ...this.counted('active', held, attributes),
      ...this.counted('waiting', waiting, attributes),
      ...this.permits(held, waiting, attributes),
      { metric: 'oldestWait', value: longestWait / 1_000, attributes },
      { metric: 'local', value: local ? 1 : 0, attributes },
    ];
    if (leastRemaining !== undefined) {
      values.push({ metric: 'leaseMargin', value: leastRemaining / 1_000, attributes });
    }
    return values;
  }

  private permits(
    held: readonly HeldLock[],
    waiting: readonly WaitingCall[],
    attributes: MetricAttributes,
  ): readonly GaugeValue[] {
    const id = attributes.instance ?? '';
    const uses = this.semaphores.get(id) ?? new Map<string, { held: number; limits: Map<string, number> }>();
    this.semaphores.set(id, uses);
    for (const [operation] of uses) uses.set(operation, { held: 0, limits: new Map() });
    const count = ({ operation, key, limit }: HeldLock | WaitingCall, permits: number): void => {
      if (limit === 1 || limit === Infinity) return;
      const use = uses.get(operation) ?? { held: 0, limits: new Map<string, number>() };
      use.held += permits;
      use.limits.set(key, limit);
      uses.set(operation, use);
    };
    for (const hold of held) count(hold, hold.permits);
    for (const call of waiting) count(call, 0);
    return [...uses].flatMap(([operation, use]): GaugeValue[] => {
      const limit = [...use.limits.values()].reduce((sum, each) => sum + each, 0);
      return [
        { metric: 'permitsHeld', value: use.held, attributes: { ...attributes, operation } },
        { metric: 'permitsLimit', value: limit, attributes: { ...attributes, operation } },
      ];
    });
  }

  private counted(
    metric: 'active' | 'waiting',
    uses: readonly MetricKind[],
    attributes: MetricAttributes,
  ): readonly GaugeValue[] {
    const gauge = `${metric} ${attributes.instance ?? ''}`;
    // One series exists from the start: a missing series can't be distinguished from a missing exporter.
    const kinds =
      this.seen.get(gauge) ??
      new Map<string, MetricKind>([['exclusive default', { operation: 'default', mode: 'exclusive' }]]);
    this.seen.set(gauge, kinds);
    const counts = new Map<string, number>();
    for (const { operation, mode } of uses) {
      const id = `${mode} ${operation}`;
      if (!kinds.has(id)) kinds.set(id, { operation, mode });
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return [...kinds].map(([id, kind]) => ({
      metric,
      value: counts.get(id) ?? 0,
      attributes: { ...attributes, ...kind },
    }));
  }
}
