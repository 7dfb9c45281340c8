/** What one metric is, in the terms of OpenTelemetry. Prometheus has `_` for `.`, and the unit at the end of the name. */
export interface Metric {
  readonly name: string;
  /** A sum is a gauge whose values of several processes may be added. */
  readonly kind: 'histogram' | 'counter' | 'gauge' | 'sum';
  readonly description: string;
  /** `s` for seconds; `{hold}` and the like for what is counted. */
  readonly unit: string;
  readonly attributes: readonly MetricAttribute[];
}

/** What tells the series of a metric apart. Keys and labels of locks never do: there is no end to them. */
export type MetricAttribute = 'module' | 'name' | 'mode' | 'outcome' | 'error.type' | 'reason' | 'operation';

export type MetricAttributes = Partial<Readonly<Record<MetricAttribute, string>>>;

/** Upper bounds of the buckets of histograms, seconds. */
export const BUCKETS: readonly number[] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60];

/** Of these metrics there is a series for each kind of lock. */
const OF_KINDS = ['module', 'name', 'mode'] as const;

/** Those that are recorded when something happens. */
export const RECORDED = {
  acquireDuration: {
    name: 'distributed_lock.acquire.duration',
    kind: 'histogram',
    description: 'Time from a call for a lock to its outcome.',
    unit: 's',
    attributes: [...OF_KINDS, 'outcome', 'error.type'],
  },
  holdDuration: {
    name: 'distributed_lock.hold.duration',
    kind: 'histogram',
    description: 'Time from the grant of a lock to its release or loss.',
    unit: 's',
    attributes: [...OF_KINDS, 'outcome'],
  },
  losses: {
    name: 'distributed_lock.losses',
    kind: 'counter',
    description: 'Holds that ended before they were released.',
    unit: '{hold}',
    attributes: [...OF_KINDS, 'reason'],
  },
  renewalFailures: {
    name: 'distributed_lock.renewal.failures',
    kind: 'counter',
    description: 'Renewals of leases that failed. Each is tried again until the lease is over.',
    unit: '{renewal}',
    attributes: OF_KINDS,
  },
  requestDuration: {
    name: 'distributed_lock.store.request.duration',
    kind: 'histogram',
    description: 'Time from a request to the store to its reply or failure.',
    unit: 's',
    attributes: ['module', 'operation', 'error.type'],
  },
} as const satisfies Record<string, Metric>;

/** Those that are looked at when somebody asks. */
export const OBSERVED = {
  active: {
    name: 'distributed_lock.active',
    kind: 'sum',
    description: 'Locks that this process holds.',
    unit: '{hold}',
    attributes: OF_KINDS,
  },
  waiting: {
    name: 'distributed_lock.waiting',
    kind: 'sum',
    description: 'Calls of this process that wait for a lock.',
    unit: '{call}',
    attributes: OF_KINDS,
  },
  oldestWait: {
    name: 'distributed_lock.wait.oldest',
    kind: 'gauge',
    description: 'For how long the call has waited that has waited longest; 0 if none waits.',
    unit: 's',
    attributes: ['module'],
  },
  leaseMargin: {
    name: 'distributed_lock.lease.margin.min',
    kind: 'gauge',
    description: 'What is left of the lease of which least is left, of those that the watchdog renews.',
    unit: 's',
    attributes: ['module'],
  },
  degraded: {
    name: 'distributed_lock.degraded',
    kind: 'gauge',
    description: '1 while locks are taken in this process only since the store is out of reach, else 0.',
    unit: '1',
    attributes: ['module'],
  },
} as const satisfies Record<string, Metric>;

export type RecordedMetric = keyof typeof RECORDED;
export type ObservedMetric = keyof typeof OBSERVED;

/** What is recorded for one series, or added to it. */
export type Series = (value: number) => void;

/** Where histograms and counters are kept. */
export interface MetricRegistry {
  series(metric: RecordedMetric, attributes: MetricAttributes): Series;
}

/** The default module instance has no name, and no attribute. */
export function moduleOf(instance: string | undefined): MetricAttributes {
  return instance === undefined ? {} : { module: instance };
}
