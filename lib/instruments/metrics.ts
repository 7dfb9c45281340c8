/** What one metric is, in the terms of OpenTelemetry; Prometheus has the same with `_` for `.`, and the unit at the end. */
export interface Metric {
  readonly name: string;
  readonly kind: 'histogram' | 'counter' | 'gauge';
  readonly description: string;
  /** `s` for seconds; `{hold}` and the like for what is counted. */
  readonly unit: string;
  readonly attributes: readonly MetricAttribute[];
}

/** What tells the series of a metric apart. Keys and labels of locks never do: there is no end to them. */
export type MetricAttribute = 'module' | 'name' | 'mode' | 'outcome' | 'error.type' | 'reason' | 'operation';

export type MetricAttributes = Partial<Record<MetricAttribute, string>>;

/** Upper bounds of histograms, seconds. */
export const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60] as const;

/** Of these kinds there are series for each kind of lock. */
const OF_LOCKS = ['module', 'name', 'mode'] as const;

export const METRICS = {
  acquireDuration: {
    name: 'distributed_lock.acquire.duration',
    kind: 'histogram',
    description: 'Time from a call for a lock to its outcome',
    unit: 's',
    attributes: [...OF_LOCKS, 'outcome', 'error.type'],
  },
  holdDuration: {
    name: 'distributed_lock.hold.duration',
    kind: 'histogram',
    description: 'Time from the grant of a lock to its release or loss',
    unit: 's',
    attributes: [...OF_LOCKS, 'outcome'],
  },
  active: {
    name: 'distributed_lock.active',
    kind: 'gauge',
    description: 'Locks that this process holds',
    unit: '{hold}',
    attributes: OF_LOCKS,
  },
  waiting: {
    name: 'distributed_lock.waiting',
    kind: 'gauge',
    description: 'Calls of this process that wait for a lock',
    unit: '{call}',
    attributes: OF_LOCKS,
  },
  oldestWait: {
    name: 'distributed_lock.wait.oldest',
    kind: 'gauge',
    description: 'Time for which the longest-waiting call of this process has waited',
    unit: 's',
    attributes: ['module'],
  },
  leaseMargin: {
    name: 'distributed_lock.lease.margin.min',
    kind: 'gauge',
    description: 'What is left of the lease with the least left, of those that the watchdog renews',
    unit: 's',
    attributes: ['module'],
  },
  losses: {
    name: 'distributed_lock.losses',
    kind: 'counter',
    description: 'Holds that ended before they were released',
    unit: '{hold}',
    attributes: [...OF_LOCKS, 'reason'],
  },
  renewalFailures: {
    name: 'distributed_lock.renewal.failures',
    kind: 'counter',
    description: 'Renewals of leases that failed and were tried again',
    unit: '{renewal}',
    attributes: OF_LOCKS,
  },
  requestDuration: {
    name: 'distributed_lock.store.request.duration',
    kind: 'histogram',
    description: 'Time from a request to the store to its reply',
    unit: 's',
    attributes: ['module', 'operation', 'error.type'],
  },
  degraded: {
    name: 'distributed_lock.degraded',
    kind: 'gauge',
    description: '1 while locks are taken in this process only, else 0',
    unit: '1',
    attributes: ['module'],
  },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;

/** What records histograms and counters. */
export interface MetricRecorder {
  record(metric: MetricName, value: number, attributes: MetricAttributes): void;
}
