export { LockHealthIndicator, type LockHealth, type LockHealthThresholds } from './lock-health.indicator.js';
