/** Checks that every call ends once, and in time. */
export class Answers {
  #open = new Map();
  #late = [];
  #unexpected = [];
  #killed = new Set();
  counts = { calls: 0, granted: 0, failed: {}, outcomes: {} };

  constructor(findings, rules) {
    this.findings = findings;
    this.rules = rules;
  }

  see(event) {
    const id = `${event.p}/${event.i}`;
    switch (event.e) {
      case 'invoke':
        this.counts.calls += 1;
        this.#open.set(id, { ...event, state: 'waiting' });
        break;
      case 'abort':
        this.#aborted(this.#open.get(id), event.t);
        break;
      case 'ok':
        this.counts.granted += 1;
        this.#granted(id, event.t);
        break;
      case 'fail':
        this.#failed(id, event);
        break;
      case 'rel':
        this.#releasing(id, event);
        break;
      case 'abandon':
        this.#open.delete(id);
        break;
      case 'rld':
        this.counts.outcomes[event.out] = (this.counts.outcomes[event.out] ?? 0) + 1;
        this.#open.delete(id);
        break;
      case 'fault':
      case 'stuck':
        if (event.e === 'stuck' || event.name === 'process killed') this.#killed.add(event.p);
        break;
    }
  }

  /** @param {import('./stalls.mjs').Stalls} stalls */
  finish(stalls) {
    for (const [id, call] of this.#open) {
      if (this.#killed.has(call.p)) continue;
      this.findings.add('never-answered', call.t, `${id} on ${call.k}: still ${call.state}`);
    }
    for (const { id, call, t, c } of this.#unexpected) {
      // A stalled process receives no replies.
      if (c === 'LOCK_UNAVAILABLE' && stalls.during(call.p, call.t, t) > 0) continue;
      this.findings.add('unexpected-failure', t, `${id} on ${call.k} failed with ${c}`);
    }
    let latest = 0;
    for (const { id, p, due, at, bound, what } of this.#late) {
      const late = at - due - stalls.during(p, due, at);
      latest = Math.max(latest, late);
      if (late > bound)
        this.findings.add('late', at, `${id}: ${what} ${late.toFixed(0)} ms after it was due`);
    }
    return { latest };
  }

  #aborted(call, t) {
    if (call?.state === 'waiting') call.abortedAt ??= t;
  }

  #granted(id, t) {
    const call = this.#open.get(id);
    if (call === undefined) return;
    if (call.state !== 'waiting') this.findings.add('answered-twice', t, `${id} was granted once more`);
    call.state = 'held';
    this.#timed(id, call, t, 'granted');
  }

  #failed(id, { t, c }) {
    this.counts.failed[c] = (this.counts.failed[c] ?? 0) + 1;
    const call = this.#open.get(id);
    if (call === undefined || call.state !== 'waiting') {
      this.findings.add('failed-after-grant', t, `${id} failed with ${c} after it was granted`);
      return;
    }
    this.#open.delete(id);
    // With so little time, a reply may not arrive.
    const hasty =
      (c === 'LOCK_UNAVAILABLE' && call.w >= 0 && call.w <= this.rules.haste) ||
      (c === 'LOCK_LOST' && call.l > 0 && call.l <= this.rules.haste);
    if (!hasty && !this.rules.expectedFailures.includes(c)) {
      this.#unexpected.push({ id, call, t, c });
    }
    this.#timed(id, call, t, `failed with ${c}`);
  }

  #releasing(id) {
    const call = this.#open.get(id);
    if (call !== undefined) call.state = 'releasing';
  }

  /** Checked at the end, when the stalls of the process are known. */
  #timed(id, { p, w, t, abortedAt }, at, what) {
    const { lateness, latenessOfTries } = this.rules;
    const dues = [];
    if (w >= 0) dues.push({ due: t + w, bound: w === 0 ? latenessOfTries : lateness });
    if (abortedAt !== undefined) dues.push({ due: abortedAt, bound: lateness });
    for (const { due, bound } of dues) {
      if (at > due + 5) this.#late.push({ id, p, due, at, bound, what });
    }
  }
}
