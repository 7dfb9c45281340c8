export {
  LockHealthIndicator,
  type LockHealth,
  type LockHealthThresholds,
  type ReportedElection,
} from './lock-health.indicator.js';
