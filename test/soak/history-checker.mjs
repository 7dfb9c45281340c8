import { Answers } from './history/answers.mjs';
import { checkExclusion, checkTokens, checkTokensAfterRestarts } from './history/exclusion.mjs';
import { Findings } from './history/findings.mjs';
import { HoldBook } from './history/hold-record.mjs';
import { Idleness } from './history/idleness.mjs';
import { Processes } from './history/processes.mjs';
import { Stalls } from './history/stalls.mjs';
import { Turns } from './history/turns.mjs';
import { Witnesses } from './history/witnesses.mjs';

/** The bounds for a run without faults. Times are ms. */
export const STRICT_RULES = {
  strict: true,
  lateness: 100,
  latenessOfTries: 300,
  /** With a waitTime or lease up to this, a reply may come too late on a busy machine. */
  haste: 50,
  idleness: 1_300,
  closing: 5_500,
  exiting: 1_000,
  /** The number of grants in one turn (P20). */
  turn: 65,
  turnSlack: 1,
  /** How long the effects of a fault may last. */
  aftermath: 0,
  /** How long a lock outlives its process at most (B20). A new leader of etcd or ZooKeeper starts that time again. */
  afterCrash: 0,
  longestLease: 5_000,
  expectedFailures: ['LOCK_TIMEOUT', 'LOCK_CLOSED', 'aborted'],
};

/** The bounds for a run with faults: the same, but calls may wait for a server that does not reply. */
export const RULES_WITH_FAULTS = {
  ...STRICT_RULES,
  strict: false,
  lateness: 600,
  latenessOfTries: 2_000,
  idleness: 8_000,
  closing: 8_000,
  exiting: 3_000,
  aftermath: 4_000,
  afterCrash: 3_000,
  expectedFailures: [...STRICT_RULES.expectedFailures, 'LOCK_UNAVAILABLE', 'LOCK_LOST'],
};

/**
 * Checks the recorded events of all processes of a run. Pure: events in, findings out.
 *
 * @param {Iterable<object>} events in order of their time `t` (monotonic ms, one clock for all)
 * @param {typeof STRICT_RULES} rules
 */
export function checkHistory(events, rules) {
  const findings = new Findings();
  const stalls = new Stalls(rules);
  const book = new HoldBook(findings);
  const answers = new Answers(findings, rules);
  const turns = new Turns(findings, rules);
  const processes = new Processes(findings, rules);
  const witnesses = new Witnesses(findings);
  const idleness = new Idleness(findings, rules);
  const restarts = [];
  let stale = 0;

  for (const event of events) {
    stalls.see(event);
    book.see(event);
    answers.see(event);
    processes.see(event);
    witnesses.see(event);
    idleness.see(event);
    const queuedSince = turns.see(event);
    if (queuedSince !== undefined) book.records.get(`${event.p}/${event.i}`).queuedSince = queuedSince;
    if (event.e === 'restarted') restarts.push(event);
    if (event.e === 'lost') stale += 1;
  }

  const holds = book.finish();
  for (const [key, ofKey] of byKey(holds)) {
    checkExclusion(ofKey, findings);
    checkTokens(ofKey, findings);
    idleness.check(key, ofKey, stalls);
  }
  checkTokensAfterRestarts(holds, restarts, rules.longestLease, findings);
  witnesses.finish(book.records);
  const { latest } = answers.finish(stalls);
  const overtaken = turns.finish(stalls);
  const gaps = idleness.gaps.sort((a, b) => a - b);
  return {
    findings,
    figures: {
      processes: processes.finish(),
      ...answers.counts,
      certainHolds: holds.filter((hold) => hold.isCertain).length,
      doomedHolds: holds.filter((hold) => hold.doomedAt < Infinity && hold.doomedAt < hold.releasedAt).length,
      lost: stale,
      writes: witnesses.counts,
      latest,
      overtaken,
      handOver: { median: gaps[gaps.length >> 1] ?? 0, longest: gaps.at(-1) ?? 0 },
    },
  };
}

/** The certain holds of each key, by their start. */
function byKey(holds) {
  const keys = new Map();
  for (const hold of holds) {
    if (!hold.isCertain) continue;
    const ofKey = keys.get(hold.key);
    if (ofKey === undefined) keys.set(hold.key, [hold]);
    else ofKey.push(hold);
  }
  for (const ofKey of keys.values()) ofKey.sort((a, b) => a.from - b.from);
  return keys;
}
