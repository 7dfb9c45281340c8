export interface SteadySample {
  /** Holds a second of this minute. */
  readonly rate: number;
  /** Processor time of the processes per hold, µs. */
  readonly cpuPerHold: number;
  /** Bytes in use after garbage collection. */
  readonly heap: number;
  readonly timers: number;
  /** Keys, nodes or rows in the store. */
  readonly entries: number;
}

export interface RestSample {
  readonly entriesAtStart: number;
  readonly entriesAtRest: number;
  readonly writesAtRest: number;
}

export function problemsIn(samples: readonly SteadySample[], rest: RestSample): string[];
