import type { HistoryEvent, HistoryRules, Verdict } from './history-checker.mjs';

export interface ElectionRules extends Pick<
  HistoryRules,
  'closing' | 'exiting' | 'longestLease' | 'afterCrash'
> {
  /** Until the next leader after a crash, ms. */
  readonly takeover: number;
  /** After a resignation or shutdown, ms. */
  readonly handOver: number;
  /** How long a fault has effects after its end, ms. */
  readonly settle: number;
}

export function checkElection(events: Iterable<HistoryEvent>, rules: ElectionRules): Verdict;
