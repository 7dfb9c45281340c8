import type { LockAdmin } from '../api/lock-admin.js';
import type { HeldLock, WaitingCall } from '../model/lock-status.js';
import { instanceOf, type MetricAttributes, type ObservedMetric } from './metrics.js';

/** The value of one series of a gauge. */
export interface GaugeValue {
  readonly metric: ObservedMetric;
  readonly attributes: MetricAttributes;
  value: number;
}

/** Reads the current state of this process's locks. */
export class LockGauges {
  /** Numbers of locks by kind. Those read before drop to 0 instead of vanishing. A process has at most 200 names. */
  private readonly numbers = new Map<string, GaugeValue>();
  private values: readonly GaugeValue[] | undefined;

  /** @param admins called at each reading */
  constructor(private readonly admins: () => readonly LockAdmin[]) {}

  /** All gauges. Calls of one tick use one reading, since Prometheus collects one gauge after the other. */
  read(): readonly GaugeValue[] {
    if (this.values === undefined) {
      for (const number of this.numbers.values()) number.value = 0;
      const times = this.admins().flatMap((admin) => this.readFrom(admin));
      this.values = [...this.numbers.values(), ...times];
      queueMicrotask(() => (this.values = undefined));
    }
    return this.values;
  }

  /** Counts the locks of a module instance, and returns its other gauges. */
  private readFrom(admin: LockAdmin): readonly GaugeValue[] {
    const { instance, longestWait, leastRemaining, watchdogTimeout, local, store } = admin.status();
    // An idle process would not notice that the store has stopped.
    admin.probe().catch(() => undefined);
    const attributes = instanceOf(instance);
    // One series exists from the start: a missing series can't be distinguished from a missing exporter.
    const first = { ...attributes, operation: 'default', mode: 'exclusive' };
    this.add('active', first, 0);
    this.add('waiting', first, 0);
    // The limit of a semaphore counts once.
    const semaphores = new Set<string>();
    const count = (metric: 'active' | 'waiting', use: HeldLock | WaitingCall, permits: number): void => {
      const { operation, mode, key, limit } = use;
      this.add(metric, { ...attributes, operation, mode }, 1);
      if (limit === 1 || limit === Infinity) return;
      const semaphore = `${operation}\n${key}`;
      this.add('permitsHeld', { ...attributes, operation }, permits);
      this.add('permitsLimit', { ...attributes, operation }, semaphores.has(semaphore) ? 0 : limit);
      semaphores.add(semaphore);
    };
    for (const hold of admin.held()) count('active', hold, hold.permits);
    for (const call of admin.waiting()) count('waiting', call, 0);
    const values: GaugeValue[] = [
      { metric: 'oldestWait', attributes, value: longestWait / 1_000 },
      { metric: 'local', attributes, value: local ? 1 : 0 },
    ];
    if (store.reachable !== undefined)
      values.push({ metric: 'reachable', attributes, value: store.reachable ? 1 : 0 });
    if (leastRemaining !== undefined) {
      values.push({ metric: 'leaseMargin', attributes, value: leastRemaining / 1_000 });
      values.push({ metric: 'leaseShare', attributes, value: leastRemaining / watchdogTimeout });
    }
    return values;
  }

  private add(metric: ObservedMetric, attributes: MetricAttributes, value: number): void {
    const id = JSON.stringify([metric, attributes]);
    const number = this.numbers.get(id);
    if (number === undefined) this.numbers.set(id, { metric, attributes, value });
    else number.value += value;
  }
}
