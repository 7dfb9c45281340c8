/** One hold as its holder observed it; times in ms on the monotonic clock of the machine. */
export interface Hold {
  readonly key: string;
  readonly token: number;
  /** When the call for the lock returned. */
  readonly from: number;
  /** When `isHeld` was last observed to be true; checked every 10 ms and at the end of the work. */
  readonly to: number;
  /** Whether the holder was notified of a loss before its work ended. */
  readonly isLost: boolean;
  readonly outcome: 'released' | 'expired' | 'unknown';
}

const OUTCOMES = ['released', 'expired', 'unknown'] as const;
const FIELDS = 6;

/** The monotonic clock of the machine, ms. */
export function machineNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Decodes holds from lock-process.mjs: index of the key, token, from, to, whether lost, index of the outcome. */
export function readHolds(fields: Float64Array, keys: readonly string[]): Hold[] {
  return Array.from({ length: fields.length / FIELDS }, (_, index) => {
    const [key, token, from, to, lost, outcome] = fields.subarray(index * FIELDS) as unknown as [
      number,
      number,
      number,
      number,
      number,
      number,
    ]; // by FIELDS
    return { key: keys[key]!, token, from, to, isLost: lost === 1, outcome: OUTCOMES[outcome]! };
  });
}
