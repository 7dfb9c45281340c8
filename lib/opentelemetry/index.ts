export { LockOpenTelemetryModule, type LockOpenTelemetryOptions } from './lock-opentelemetry.module.js';
