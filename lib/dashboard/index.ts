export { LockDashboardModule } from './lock-dashboard.module.js';
export type { LockDashboardOptions } from './lock-dashboard.options.js';
