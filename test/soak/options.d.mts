export interface SoakOptions {
  readonly store: string;
  readonly minutes: number;
  readonly faults: boolean;
  /** The names of the faults to inject; undefined for all. */
  readonly only: readonly string[] | undefined;
  readonly plant: string | undefined;
  /** Whether the processes elect a leader. */
  readonly leader: boolean;
}

/** Invalid options; the message says what to write instead. */
export declare class UsageError extends Error {}
export function readOptions(args: readonly string[]): SoakOptions;
