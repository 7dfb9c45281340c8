/** An event that a process recorded, or a fault that it had. `t` is in ms of the machine's monotonic clock. */
export interface HistoryEvent {
  readonly e: string;
  readonly t: number;
  readonly [field: string]: unknown;
}

export interface HistoryRules {
  readonly strict: boolean;
  readonly lateness: number;
  readonly latenessOfTries: number;
  readonly haste: number;
  readonly idleness: number;
  readonly closing: number;
  readonly exiting: number;
  readonly turn: number;
  readonly turnSlack: number;
  readonly aftermath: number;
  readonly afterCrash: number;
  readonly longestLease: number;
  readonly expectedFailures: readonly string[];
}

export interface Verdict {
  readonly findings: {
    readonly counts: Readonly<Record<string, number>>;
    readonly list: readonly { readonly kind: string; readonly at: number; readonly story: string }[];
  };
  readonly figures: Readonly<Record<string, unknown>>;
}

export const STRICT_RULES: HistoryRules;
export const RULES_WITH_FAULTS: HistoryRules;
export function checkHistory(events: Iterable<HistoryEvent>, rules: HistoryRules): Verdict;
