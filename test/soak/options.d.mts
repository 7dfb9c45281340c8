export interface SoakOptions {
  readonly store: string;
  readonly minutes: number;
  readonly faults: boolean;
  /** The names of the faults that may happen; undefined for all. */
  readonly only: readonly string[] | undefined;
  readonly plant: string | undefined;
}

/** What was typed makes no sense; the message says what to write. */
export declare class UsageError extends Error {}
export function readOptions(args: readonly string[]): SoakOptions;
