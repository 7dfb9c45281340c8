export { LockDashboardModule } from './lock-dashboard.module.js';
export type {
  LockDashboardAsyncOptions,
  LockDashboardFactoryOptions,
  LockDashboardOptions,
} from './lock-dashboard.options.js';
