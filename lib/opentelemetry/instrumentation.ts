/** The name of the instrumentation scope, of metrics and spans. */
export const INSTRUMENTATION = 'nestjs-distributed-lock';
