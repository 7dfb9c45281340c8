export interface CyclesSample {
  /** Share of the work that was done, 0 … 1. */
  readonly done: number;
  /** Bytes in use after garbage collection. */
  readonly heap: number;
  /** Timers that are set, also those that keep no process alive. */
  readonly timers: number;
  /** On a signal that every call was given. */
  readonly listeners: number;
  readonly connections: number;
  /** Names in Redis. */
  readonly keys: number;
}

export interface CyclesPlan {
  readonly build: string;
  readonly redis: string;
  readonly cycles: number;
  readonly abandoned: number;
  readonly samples: number;
}

export function runCycles(
  plan: CyclesPlan,
  onSample?: (sample: CyclesSample) => void,
): Promise<{ readonly samples: readonly CyclesSample[]; readonly problems: readonly string[] }>;
export function growthIn(samples: readonly Omit<CyclesSample, 'done'>[], cycles: number): string[];
