export { LockPrometheusModule, type LockPrometheusOptions } from './lock-prometheus.module.js';
