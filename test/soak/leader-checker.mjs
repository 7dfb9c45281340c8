import { checkExclusion, checkTokens, checkTokensAfterRestarts } from './history/exclusion.mjs';
import { Findings } from './history/findings.mjs';
import { Processes } from './history/processes.mjs';
import { Stalls } from './history/stalls.mjs';

/** How a leader ended, and what the bound of its successor depends on. */
const RELEASED = new Set(['resigned', 'closed']);
/** Faults without a duration last no longer than this, ms. */
const SHORT = 300;
/** So slight and frequent that takeovers are judged nevertheless. */
const SLIGHT = 'replies late';

/**
 * The time in which one process believed that it was the leader. Only what is certain counts: a reading of `isLeader` was
 * true at some moment between the times taken before and after it, so the belief lasted at least from the end of the first
 * reading to the begin of the last one. A leader that was deposed from outside (an operator broke the lock, the server lost
 * its data) is certain only until then.
 */
class Term {
  key = 'leader';
  from = Infinity;
  end = -Infinity;
  /** When it was asked to resign or to shut down. */
  leavesAt = undefined;
  workEndedAt = undefined;
  reason = undefined;
  revokedAt = Infinity;

  constructor(process, token) {
    this.process = process;
    this.token = token;
  }

  /** For checks of tokens after a loss of data. */
  get invokedAt() {
    return this.from;
  }

  get isCertain() {
    return this.from <= this.end;
  }

  toString() {
    const ended = this.reason ? `, ${this.reason}` : '';
    return `${this.process} (token ${this.token}, ${this.from.toFixed(2)} – ${this.end.toFixed(2)}${ended})`;
  }
}

/**
 * Checks the history of an election. Pure: events in, findings out.
 *
 * @param {Iterable<object>} events in order of their time `t` (monotonic ms, one clock for all)
 * @param {{ takeover: number, handOver: number, settle: number, closing: number, exiting: number, longestLease: number,
 *   afterCrash: number }} rules
 *   ms. `takeover`: until the next leader after a crash; `handOver`: after a resignation or shutdown; `settle`: how long a fault
 *   has effects after its end
 */
export function checkElection(events, rules) {
  const findings = new Findings();
  const stalls = new Stalls(rules);
  const processes = new Processes(findings, rules);
  const record = new ElectionRecord(findings);
  for (const event of events) {
    stalls.see(event);
    processes.see(event);
    record.see(event);
  }
  const terms = record.finish();
  checkExclusion(terms, findings);
  checkTokens(terms, findings);
  checkTokensAfterRestarts(terms, record.restarts, rules.longestLease, findings);
  const takeovers = new Takeovers(record, terms, stalls, rules, findings).check();
  return { findings, figures: { processes: processes.finish(), terms: terms.length, takeovers } };
}

/** What the processes recorded, by term, and the faults that they had. */
class ElectionRecord {
  restarts = [];
  faults = [];
  /** From when and until when each process was a candidate. */
  candidates = new Map();
  endingAt = Infinity;
  #terms = new Map();
  #dooms = [];

  constructor(findings) {
    this.findings = findings;
  }

  see(event) {
    const { e, p, t, tok } = event;
    const term = tok === undefined ? undefined : this.#termOf(p, tok);
    if (e === 'leads') this.#leads(term, event);
    else if (e === 'leaves') term.leavesAt = t;
    else if (e === 'work-ended') term.workEndedAt = t;
    else if (e === 'revoked') Object.assign(term, { reason: event.reason, revokedAt: t });
    else if (e === 'candidate') this.candidates.set(p, { from: t, to: Infinity });
    else if (e === 'closing' || e === 'exit') this.#leaves(p, t);
    else if (e === 'doomed') this.#dooms.push(event);
    else if (e === 'restarted') this.restarts.push(event);
    else if (e === 'ending') this.endingAt = t;
    else if (e === 'away') this.faults.push({ from: event.from, to: t });
    else if (e === 'fault') this.#fault(event);
  }

  /** The certain terms by their start. */
  finish() {
    for (const term of this.#terms.values()) {
      for (const { since, fence } of this.#dooms) {
        if (term.token <= fence) term.end = Math.min(term.end, since);
      }
    }
    return [...this.#terms.values()]
      .filter(({ isCertain }) => isCertain)
      .sort((one, other) => one.from - other.from);
  }

  #termOf(p, token) {
    const id = `${p}/${token}`;
    let term = this.#terms.get(id);
    if (term === undefined) this.#terms.set(id, (term = new Term(p, token)));
    return term;
  }

  #leads(term, { b, t }) {
    if (b > term.revokedAt) {
      this.findings.add('leads-after-revocation', t, `${term} had been revoked and believes that it leads`);
    }
    term.from = Math.min(term.from, t);
    term.end = Math.max(term.end, b);
  }

  #leaves(p, t) {
    const candidate = this.candidates.get(p);
    if (candidate !== undefined) candidate.to = Math.min(candidate.to, t);
  }

  #fault({ t, p, ms = SHORT, name }) {
    if (name === SLIGHT) return;
    this.faults.push({ from: t, to: t + ms, p, name });
    if (name === 'process killed') this.#leaves(p, t);
  }
}

/**
 * Checks how soon a leader is followed by the next one. Judged are takeovers in which no other process and no server had a
 * fault, and another candidate was waiting; time in which an event loop was blocked is left out.
 */
class Takeovers {
  #figures = { crash: [], handOver: [], notJudged: 0 };

  constructor(record, terms, stalls, rules, findings) {
    Object.assign(this, { record, terms, stalls, rules, findings });
  }

  check() {
    for (const [index, term] of this.terms.entries()) {
      // Without a successor: it was the leader until the end of the run, or nobody has followed it.
      const next = this.terms[index + 1] ?? { from: this.record.endingAt, toString: () => 'nobody' };
      if (next.from <= this.record.endingAt && term.end < this.record.endingAt) this.#judge(term, next);
    }
    const { crash, handOver, notJudged } = this.#figures;
    return { crash: summary(crash), handOver: summary(handOver), notJudged };
  }

  #judge(term, next) {
    const wasReleased = RELEASED.has(term.reason) && term.leavesAt !== undefined;
    // A term without successor that ends with the run.
    const lasted = next.process === undefined && next.from - term.end < 1_000;
    if (lasted) return;
    const from = wasReleased ? term.leavesAt : term.end;
    if (!this.#isUndisturbed(term, wasReleased, from, next.from)) {
      this.#figures.notJudged += 1;
      return;
    }
    if (wasReleased && term.workEndedAt > next.from) {
      this.findings.add('work-overlap', next.from, `${next} came before the work of ${term} had ended`);
    }
    // Whatever a leader that does not release its lock is doing, its lease is over in time.
    const busy = wasReleased ? [term.process, next.process] : [next.process];
    const stalled = this.stalls.duringAny(busy, from, next.from);
    const gap = Math.max(0, next.from - from - stalled);
    this.#figures[wasReleased ? 'handOver' : 'crash'].push(gap);
    if (gap > (wasReleased ? this.rules.handOver : this.rules.takeover)) {
      const kind = wasReleased ? 'late-hand-over' : 'late-takeover';
      this.findings.add(kind, next.from, `${next} came ${gap.toFixed(0)} ms after ${term}`);
    }
  }

  #isUndisturbed(term, wasReleased, from, to) {
    const { settle } = this.rules;
    const disturbs = (fault) => {
      if (fault.from >= to || fault.to + settle <= from) return false;
      // What happened to the leader itself is why it ended.
      if (fault.p === term.process) return wasReleased && !LEAVES.has(fault.name);
      return true;
    };
    const couldFollow = ([process, candidate]) =>
      process !== term.process && candidate.from + settle < from && candidate.to > to;
    return !this.record.faults.some(disturbs) && [...this.record.candidates].some(couldFollow);
  }
}

const LEAVES = new Set(['leader resigned', 'process shut down']);

function summary(gaps) {
  gaps.sort((one, other) => one - other);
  return { count: gaps.length, median: gaps[gaps.length >> 1] ?? 0, longest: gaps.at(-1) ?? 0 };
}
