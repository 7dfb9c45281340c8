/**
 * A lock that is wanted is not left lying: neither from the end of one hold to the begin of the next, who has waited all
 * along, nor until somebody gives up for whom it would have been free. Holds of which nothing is known (a process died
 * between grant and first look) explain longer gaps with faults.
 */
export class Idleness {
  gaps = [];
  #gaveUp = new Map();
  #open = new Map();

  constructor(findings, rules) {
    this.findings = findings;
    this.rules = rules;
  }

  /** Keeps those who gave up after a wait that was longer than a lock may lie. */
  see({ e, p, i, k, w, c, t }) {
    const id = `${p}/${i}`;
    if (e === 'invoke' && w !== 0) this.#open.set(id, t);
    else if (e === 'ok') this.#open.delete(id);
    else if (e === 'fail') {
      const since = this.#open.get(id);
      this.#open.delete(id);
      // Who was told that the store can't be asked has got an explanation.
      if (since === undefined || c === 'LOCK_UNAVAILABLE' || t - since < this.rules.idleness) return;
      if (!this.#gaveUp.has(k)) this.#gaveUp.set(k, []);
      this.#gaveUp.get(k).push({ id, p, since, until: t });
    }
  }

  /**
   * @param {readonly import('./hold-record.mjs').HoldRecord[]} holdsOfKey in order of their beginnings
   * @param {import('./stalls.mjs').Stalls} stalls
   */
  check(key, holdsOfKey, stalls) {
    const gaveUp = this.#gaveUp.get(key) ?? [];
    let next = 0;
    let freeAt = -Infinity;
    let last;
    for (const hold of holdsOfKey) {
      for (; next < gaveUp.length && gaveUp[next].until < hold.from; next++) {
        this.#inVain(key, gaveUp[next], freeAt, last, stalls);
      }
      if (hold.queuedSince !== undefined && last !== undefined) this.#gap(hold, freeAt, last, stalls);
      const end = hold.outcome === 'released' || hold.outcome === 'returned' ? hold.answeredAt : hold.end;
      if (end >= freeAt) [freeAt, last] = [end, hold];
    }
    for (; next < gaveUp.length; next++) this.#inVain(key, gaveUp[next], freeAt, last, stalls);
  }

  #gap(hold, freeAt, last, stalls) {
    const from = Math.max(freeAt, hold.queuedSince);
    const gap = idle(hold.process, last, from, hold.from, stalls);
    if (gap > 0) this.gaps.push(gap);
    if (gap > this.rules.idleness) {
      const story = `${hold.key}: ${hold} waited ${gap.toFixed(0)} ms for a free lock`;
      this.findings.add('left-lying', hold.from, story);
    }
  }

  #inVain(key, { id, p, since, until }, freeAt, last, stalls) {
    const gap = idle(p, last, Math.max(freeAt, since), until, stalls);
    if (gap <= this.rules.idleness) return;
    this.findings.add(
      'free-in-vain',
      until,
      `${key}: ${id} gave up, and the lock had been free for ${gap.toFixed(0)} ms`,
    );
  }
}

/** ms in which neither the one who waits nor the one who had it stood still, and the servers could serve. */
function idle(waiter, last, from, until, stalls) {
  const processes = last === undefined ? [waiter] : [waiter, last.process];
  return until - from - (until > from ? stalls.duringAny(processes, from, until) : 0);
}
