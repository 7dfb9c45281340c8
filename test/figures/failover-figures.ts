import type { Hold, LoadReport } from '../support/worker-process.js';
import { doubledHolds } from './doubled-holds.js';
import { rounded, spreadOf, type Spread } from './spread.js';

/** A grant within this many ms after a kill was made before it; no server is replaced that fast. */
const ON_ITS_WAY = 100;

/** A server that was killed. */
export interface Kill {
  /** By the machine's monotonic clock. */
  readonly killedAt: number;
  /** Whether the server had the locks of that key. */
  has(key: string): boolean;
}

/** The effects of failovers on a load. */
export interface FailoverFigures {
  /** From the kill to the first grant of a key of the dead server, ms; one for each failover. */
  readonly firstGrant: Spread;
  /** The same for each of those keys. */
  readonly grantOfEachKey: Spread;
  readonly grants: number;
  /** Holds in force when their server was killed. */
  readonly heldAtKill: number;
  /** Holders notified of the loss during their work; below, those that learned of it at the release. */
  readonly lost: number;
  readonly expiredAtRelease: number;
  readonly unknownAtRelease: number;
  readonly doubledFenced: number;
  readonly doubledUnfenced: number;
  readonly errors: Readonly<Record<string, number>>;
}

/** @param shortKeys keys that are acquired and released as fast as possible */
export function failoverFigures(
  kills: readonly Kill[],
  reports: readonly LoadReport[],
  shortKeys: readonly string[],
): FailoverFigures {
  const holds = reports.flatMap((report) => report.holds);
  const grants = kills.map((kill) => grantsAfter(kill, holds, shortKeys));
  const doubled = doubledHolds(holds);
  const count = (fits: (hold: Hold) => boolean): number => holds.filter(fits).length;
  const errors: Record<string, number> = {};
  for (const report of reports) {
    for (const [name, times] of Object.entries(report.errors)) errors[name] = (errors[name] ?? 0) + times;
  }
  return {
    firstGrant: spreadOf(grants.map((ofKill) => Math.min(...ofKill))),
    grantOfEachKey: spreadOf(grants.flat()),
    grants: holds.length,
    heldAtKill: kills
      .map((kill) =>
        count(({ key, from, to }) => kill.has(key) && from < kill.killedAt && to > kill.killedAt),
      )
      .reduce((sum, held) => sum + held, 0),
    lost: count(({ isLost }) => isLost),
    expiredAtRelease: count(({ isLost, outcome }) => !isLost && outcome === 'expired'),
    unknownAtRelease: count(({ isLost, outcome }) => !isLost && outcome === 'unknown'),
    doubledFenced: doubled.fenced,
    doubledUnfenced: doubled.unfenced,
    errors,
  };
}

/** For each key of the dead server, the time from the kill to the first grant by its successor, ms. */
function grantsAfter(kill: Kill, holds: readonly Hold[], keys: readonly string[]): number[] {
  const { killedAt } = kill;
  return keys
    .filter((key) => kill.has(key))
    .map((key) => {
      const later = holds.filter((hold) => hold.key === key && hold.from > killedAt + ON_ITS_WAY);
      return rounded(later.reduce((first, { from }) => Math.min(first, from), Infinity) - killedAt);
    });
}
