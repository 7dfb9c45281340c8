export interface CyclesSample {
  /** The completed part of the work, 0 … 1. */
  readonly done: number;
  /** Bytes in use after garbage collection. */
  readonly heap: number;
  /** Active timers, including unreferenced ones. */
  readonly timers: number;
  /** On the signal that is passed to every call. */
  readonly listeners: number;
  readonly connections: number;
  /** Keys in Redis. */
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
