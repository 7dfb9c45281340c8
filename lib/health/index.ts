export {
  LockHealthIndicator,
  type LockHealth,
  type LockHealthDefaults,
  type LockHealthThresholds,
  type ReportedElection,
} from './lock-health.indicator.js';
export {
  LockHealthModule,
  type LockHealthAsyncOptions,
  type LockHealthModuleExtras,
  type LockHealthOptions,
} from './lock-health.module.js';
