import type { LockKind } from '../model/lock-kind.js';

/** A metric as OpenTelemetry defines it. Prometheus writes `_` for `.` and appends the unit to the name. */
export interface Metric {
  readonly name: string;
  /** A `sum` is a gauge whose values may be added up over processes. */
  readonly kind: 'histogram' | 'counter' | 'gauge' | 'sum';
  readonly description: string;
  /** `s` for seconds, or the counted unit, such as `{hold}`. */
  readonly unit: string;
  readonly attributes: readonly MetricAttribute[];
}

/**
 * Keys and labels of locks are never attributes: their number is unbounded. `instance` is the name of the module instance.
 */
export type MetricAttribute =
  'instance' | 'operation' | 'mode' | 'outcome' | 'error.type' | 'reason' | 'request';

export type MetricAttributes = Partial<Readonly<Record<MetricAttribute, string>>>;

/** What distinguishes the locks of one module instance in metrics. */
export type MetricKind = Pick<LockKind, 'operation' | 'mode'>;

/** Upper bounds of the buckets of histograms, seconds. */
export const BUCKETS: readonly number[] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60];

const PERMIT_ATTRIBUTES = ['instance', 'operation'] as const;
const LOCK_ATTRIBUTES = ['instance', 'operation', 'mode'] as const;

/** Metrics recorded when something happens. */
export const RECORDED = {
  acquireDuration: {
    name: 'distributed_lock.acquire.duration',
    kind: 'histogram',
    description: 'Time from a call for a lock to its outcome.',
    unit: 's',
    attributes: [...LOCK_ATTRIBUTES, 'outcome', 'error.type'],
  },
  holdDuration: {
    name: 'distributed_lock.hold.duration',
    kind: 'histogram',
    description: 'Time from the grant of a lock to its release or loss.',
    unit: 's',
    attributes: [...LOCK_ATTRIBUTES, 'outcome'],
  },
  losses: {
    name: 'distributed_lock.losses',
    kind: 'counter',
    description: 'Holds that ended before they were released.',
    unit: '{hold}',
    attributes: [...LOCK_ATTRIBUTES, 'reason'],
  },
  renewalFailures: {
    name: 'distributed_lock.renewal.failures',
    kind: 'counter',
    description: 'Failed renewals of leases. Each is retried until the lease ends.',
    unit: '{renewal}',
    attributes: LOCK_ATTRIBUTES,
  },
  requestDuration: {
    name: 'distributed_lock.store.request.duration',
    kind: 'histogram',
    description: 'Time from a request to the store to its reply or failure.',
    unit: 's',
    attributes: ['instance', 'request', 'error.type'],
  },
} as const satisfies Record<string, Metric>;

/** Metrics read when they are collected. */
export const OBSERVED = {
  active: {
    name: 'distributed_lock.active',
    kind: 'sum',
    description: 'Locks that this process holds.',
    unit: '{hold}',
    attributes: LOCK_ATTRIBUTES,
  },
  permitsHeld: {
    name: 'distributed_lock.permits.held',
    kind: 'sum',
    description: 'Permits of semaphores that this process holds.',
    unit: '{permit}',
    attributes: PERMIT_ATTRIBUTES,
  },
  permitsLimit: {
    name: 'distributed_lock.permits.limit',
    kind: 'gauge',
    description: 'Permits in total of the semaphores that this process holds or waits for.',
    unit: '{permit}',
    attributes: PERMIT_ATTRIBUTES,
  },
  waiting: {
    name: 'distributed_lock.waiting',
    kind: 'sum',
    description: 'Calls of this process that wait for a lock.',
    unit: '{call}',
    attributes: LOCK_ATTRIBUTES,
  },
  oldestWait: {
    name: 'distributed_lock.wait.oldest',
    kind: 'gauge',
    description: 'How long the longest-waiting call has waited; 0 if none waits.',
    unit: 's',
    attributes: ['instance'],
  },
  leaseMargin: {
    name: 'distributed_lock.lease.margin.min',
    kind: 'gauge',
    description: 'Shortest remaining lease among those that the watchdog renews.',
    unit: 's',
    attributes: ['instance'],
  },
  leaseShare: {
    name: 'distributed_lock.lease.margin.ratio',
    kind: 'gauge',
    description: 'The same as a share of the lease: at least two thirds while renewals succeed.',
    unit: '1',
    attributes: ['instance'],
  },
  reachable: {
    name: 'distributed_lock.store.reachable',
    kind: 'gauge',
    description:
      '1 while the store replies, 0 while it does not. Each collection checks it for the next one.',
    unit: '1',
    attributes: ['instance'],
  },
  local: {
    name: 'distributed_lock.local',
    kind: 'gauge',
    description: '1 while locks are acquired in this process only because the store is unreachable, else 0.',
    unit: '1',
    attributes: ['instance'],
  },
} as const satisfies Record<string, Metric>;

export type RecordedMetric = keyof typeof RECORDED;
export type ObservedMetric = keyof typeof OBSERVED;

/** Stores histograms and counters. */
export interface MetricRegistry {
  /** Observes a value in a histogram, or adds it to a counter. */
  record(metric: RecordedMetric, attributes: MetricAttributes, value: number): void;
}

/** The default module instance has no name, hence no attribute. */
export function instanceOf(instance: string | undefined): MetricAttributes {
  return instance === undefined ? {} : { instance };
}
