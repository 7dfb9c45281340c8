import type { LockService } from '../api/lock.service.js';
import type { HeldLock, WaitingCall } from '../model/lock-status.js';
import { moduleOf } from './lock-recorder.js';
import type { MetricAttributes } from './metrics.js';

/** The value of one series. */
export interface GaugeValue {
  readonly value: number;
  readonly attributes: MetricAttributes;
}

/** The metrics that are not recorded but looked at when somebody asks. */
export type GaugeName = 'active' | 'waiting' | 'oldestWait' | 'leaseMargin' | 'degraded';

/** What the gauges of this process show now. */
export function readGauge(gauge: GaugeName, services: readonly LockService[]): readonly GaugeValue[] {
  return services.flatMap((service): readonly GaugeValue[] => {
    const status = service.status();
    const attributes = moduleOf(status.instance);
    switch (gauge) {
      case 'active':
        return countByKind(service.held(), attributes);
      case 'waiting':
        return countByKind(service.waiting(), attributes);
      case 'oldestWait':
        return [{ value: status.longestWait / 1_000, attributes }];
      case 'leaseMargin': {
        const { leastRemaining } = status;
        return leastRemaining === undefined ? [] : [{ value: leastRemaining / 1_000, attributes }];
      }
      case 'degraded':
        return [{ value: status.degraded ? 1 : 0, attributes }];
    }
  });
}

/** Without any, one series that says 0: what is not there can't be told from what is not measured. */
function countByKind(
  uses: readonly (HeldLock | WaitingCall)[],
  attributes: MetricAttributes,
): readonly GaugeValue[] {
  const counts = new Map<string, { value: number; attributes: MetricAttributes }>();
  for (const { name, mode } of uses) {
    const kind = `${mode} ${name}`;
    const count = counts.get(kind) ?? { value: 0, attributes: { ...attributes, name, mode } };
    count.value += 1;
    counts.set(kind, count);
  }
  if (counts.size === 0)
    return [{ value: 0, attributes: { ...attributes, name: 'default', mode: 'exclusive' } }];
  return [...counts.values()];
}
