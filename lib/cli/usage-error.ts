/** A command line or a configuration that can't work; the message says what to write. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly code = 'USAGE';
}
