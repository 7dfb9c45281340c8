export {
  LockOpenTelemetryModule,
  type LockOpenTelemetryAsyncOptions,
  type LockOpenTelemetryOptions,
} from './lock-opentelemetry.module.js';
export type { WhichSpans } from './lock-spans.js';
