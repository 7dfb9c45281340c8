export { LockHealthIndicator, type LockHealth } from './lock-health.indicator.js';
export type { LockHealthThresholds } from './thresholds.js';
