export type { AnyRegistry } from './lock-collectors.js';
export {
  LockPrometheusModule,
  type LockPrometheusAsyncOptions,
  type LockPrometheusOptions,
} from './lock-prometheus.module.js';
