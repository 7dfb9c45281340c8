/**
 * Checks that a lock does not stay free while callers wait for it: neither between a hold and the next one, whose caller
 * was queued all along, nor until a waiter gives up. Holds that were never observed (a process died between grant and
 * first observation) explain longer gaps in runs with faults.
 */
export class Idleness {
  gaps = [];
  #gaveUp = new Map();
  #open = new Map();

  constructor(findings, rules) {
    this.findings = findings;
    this.rules = rules;
  }

  /** Keeps waiters that gave up after they had waited for longer than a lock may stay free. */
  see({ e, p, i, k, w, c, t, kind }) {
    const id = `${p}/${i}`;
    // While permits are free, a call that needs more of them may wait, and those behind it.
    if (e === 'invoke' && w !== 0 && kind === undefined) this.#open.set(id, t);
    else if (e === 'ok') this.#open.delete(id);
    else if (e === 'fail') {
      const since = this.#open.get(id);
      this.#open.delete(id);
      // An unreachable store explains the failure.
      if (since === undefined || c === 'LOCK_UNAVAILABLE' || t - since < this.rules.idleness) return;
      if (!this.#gaveUp.has(k)) this.#gaveUp.set(k, []);
      this.#gaveUp.get(k).push({ id, p, since, until: t });
    }
  }

  /**
   * @param {readonly import('./hold-record.mjs').HoldRecord[]} holdsOfKey by their start
   * @param {import('./stalls.mjs').Stalls} stalls
   */
  check(key, holdsOfKey, stalls) {
    const gaveUp = this.#gaveUp.get(key) ?? [];
    let next = 0;
    let freeAt = -Infinity;
    let last;
    for (const hold of holdsOfKey) {
      for (; next < gaveUp.length && gaveUp[next].until < hold.from; next++) {
        this.#checkGivenUp(key, gaveUp[next], freeAt, last, stalls);
      }
      if (hold.queuedSince !== undefined && last !== undefined) this.#gap(hold, freeAt, last, stalls);
      const end = hold.outcome === 'released' || hold.outcome === 'returned' ? hold.answeredAt : hold.end;
      if (end >= freeAt) [freeAt, last] = [end, hold];
    }
    for (; next < gaveUp.length; next++) this.#checkGivenUp(key, gaveUp[next], freeAt, last, stalls);
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

  #checkGivenUp(key, { id, p, since, until }, freeAt, last, stalls) {
    const gap = idle(p, last, Math.max(freeAt, since), until, stalls);
    if (gap <= this.rules.idleness) return;
    this.findings.add(
      'free-in-vain',
      until,
      `${key}: ${id} gave up, and the lock had been free for ${gap.toFixed(0)} ms`,
    );
  }
}

/** The time, ms, in which neither the waiter nor the last holder was stalled, and the servers were available. */
function idle(waiter, last, from, until, stalls) {
  const processes = last === undefined ? [waiter] : [waiter, last.process];
  return until - from - (until > from ? stalls.duringAny(processes, from, until) : 0);
}
