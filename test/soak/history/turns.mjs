/**
 * Checks that no waiting process is overtaken more often than P20 allows. A process waits from the time at which one of
 * its callers is queued until one of them is granted the lock. A process that gets the lock meanwhile either holds it at
 * the start (the rest of a turn) or was queued earlier (one turn); after that it is queued behind. A turn is a grant with
 * the hand-overs inside the process, or a single grant where every caller of the key is fair.
 *
 * A fault can cost a queue position, if a heartbeat or a grant does not arrive in time. Waits during or soon after a
 * fault are not checked, nor those in which the process itself was stalled: it may have polled late, nor those of a process
 * whose store was too slow for the leaseTime of a caller.
 */
export class Turns {
  #keys = new Map();
  #judged = [];
  #faults = [];
  #everyoneFair = new Map();
  /** Keys that several may hold: a grant of theirs is no turn. */
  #shared = new Set();

  constructor(findings, rules) {
    this.findings = findings;
    this.rules = rules;
  }

  see(event) {
    const { e, p, t } = event;
    if (e === 'fault') this.#faults.push(t);
    if (e === 'invoke' && event.kind !== undefined) this.#shared.add(event.k);
    if (this.#shared.has(event.k) || (event.k === undefined && e !== 'fail' && e !== 'ok')) return;
    const key = this.#key(event.k);
    if (e === 'invoke') {
      this.#everyoneFair.set(event.k, (this.#everyoneFair.get(event.k) ?? true) && event.f === 1);
      if (event.w !== 0) key.waiting.set(p, (key.waiting.get(p) ?? new Set()).add(event.i));
    } else if (e === 'queued') {
      if (!key.periods.has(p)) key.periods.set(p, { since: t, overtakers: new Map() });
    } else if (e === 'ok') {
      return this.#granted(key, event);
    } else if (e === 'fail') {
      this.#settled(key, p, event.i);
      // Its grants came later than its leaseTime allows, and each of them cost a turn.
      if (event.c === 'LOCK_UNAVAILABLE') key.periods.delete(p);
      // The last waiter has given up, and with it the queue position.
      if ((key.waiting.get(p)?.size ?? 0) === 0) this.#endPeriod(key, event);
    }
    return undefined;
  }

  /** @param {import('./stalls.mjs').Stalls} stalls */
  finish(stalls) {
    const most = { judged: 0, anyOrder: 0, strictOrder: 0 };
    for (const { p, key, since, until, overtaker, times } of this.#judged) {
      if (stalls.during(p, since, until) > 0 || this.#faultBetween(since - this.rules.aftermath, until))
        continue;
      most.judged += 1;
      const strictOrder = this.#everyoneFair.get(key) === true;
      const turn = strictOrder ? 1 : this.rules.turn;
      const name = strictOrder ? 'strictOrder' : 'anyOrder';
      most[name] = Math.max(most[name], times);
      if (times > turn * 2 + this.rules.turnSlack) {
        const ms = (until - since).toFixed(0);
        this.findings.add(
          'overtaken',
          until,
          `${key}: ${overtaker} got it ${times} times while ${p} waited ${ms} ms`,
        );
      }
    }
    return most;
  }

  #granted(key, { p, i, k, t }) {
    this.#settled(key, p, i);
    for (const [other, period] of key.periods) {
      if (other !== p) period.overtakers.set(p, (period.overtakers.get(p) ?? 0) + 1);
    }
    return this.#endPeriod(key, { p, k, t });
  }

  /** @returns {number | undefined} since when the process has been queued */
  #endPeriod(key, { p, k, t }) {
    const period = key.periods.get(p);
    key.periods.delete(p);
    for (const [overtaker, times] of period?.overtakers ?? []) {
      // Most are within bounds; the rest is checked when stalls and faults are known.
      if (times > 1) this.#judged.push({ p, key: k, since: period.since, until: t, overtaker, times });
    }
    return period?.since;
  }

  #settled(key, p, i) {
    key.waiting.get(p)?.delete(i);
  }

  #key(name) {
    let key = this.#keys.get(name);
    if (key === undefined) this.#keys.set(name, (key = { periods: new Map(), waiting: new Map() }));
    return key;
  }

  #faultBetween(from, to) {
    // Faults are in order; the last one before `to` is the one that counts.
    let low = 0;
    for (let high = this.#faults.length; low < high;) {
      const middle = (low + high) >> 1;
      if (this.#faults[middle] <= to) low = middle + 1;
      else high = middle;
    }
    return low > 0 && this.#faults[low - 1] >= from;
  }
}
