/**
 * What is known of one hold. Only what is certain counts, so that a finding is a fault of the lock and never one of the
 * observer:
 *
 * - It surely began no later than the first moment at which its handle said "held", not when it was granted.
 * - It surely lasted until the release was called, the loss was told, or the last proof ran out (the moment of a look at
 *   the handle plus what `remaining` said then), whichever came first.
 * - A hold that was doomed from outside (the operator broke the lock, the server lost its data) is certain only up to
 *   then: its process can't know at once, and goes on in good faith. Whether it was granted before is told by its token,
 *   since the server counts all grants, also those of which no process has written anything down yet, such as the rest
 *   of a block of tokens that is handed on inside a process.
 */
export class HoldRecord {
  from = Infinity;
  provenUntil = -Infinity;
  releasedAt = Infinity;
  lostAt = Infinity;
  /** First look at which it was not held any more. */
  overAt = Infinity;
  /** When the release was answered, and how. */
  answeredAt = Infinity;
  outcome = undefined;
  doomedAt = Infinity;
  /** Since when its process is known to have stood in the queue, if it did. */
  queuedSince = undefined;

  constructor(id, process, key, token, invokedAt) {
    this.id = id;
    this.process = process;
    this.key = key;
    this.token = token;
    this.invokedAt = invokedAt;
  }

  get end() {
    return Math.min(this.releasedAt, this.lostAt, this.overAt, this.provenUntil, this.doomedAt);
  }

  get isCertain() {
    return this.from < this.end;
  }

  isCertainAt(time) {
    return this.from <= time && time < this.end;
  }

  toString() {
    const end = this.end === -Infinity ? 'never surely held' : `${this.end.toFixed(2)}`;
    return `${this.id} (token ${this.token}, ${this.from.toFixed(2)} – ${end})`;
  }
}

/** Builds the records from events, and finds what can't be right about a single hold. */
export class HoldBook {
  /** @type {Map<string, HoldRecord>} */
  records = new Map();
  #invokes = new Map();
  #dooms = [];

  constructor(findings) {
    this.findings = findings;
  }

  see(event) {
    const id = `${event.p}/${event.i}`;
    switch (event.e) {
      case 'invoke':
        this.#invokes.set(id, event.t);
        break;
      case 'fail':
        this.#invokes.delete(id);
        break;
      case 'ok':
      case 'chk':
      case 'rel':
        this.#look(this.#recordOf(id, event), event);
        break;
      case 'lost':
        this.#lost(this.records.get(id), event);
        break;
      case 'rld':
        this.#answered(this.records.get(id), event);
        break;
      case 'doomed':
        this.#dooms.push(event);
        break;
    }
  }

  /** All holds, with the operator's doing taken into account. */
  finish() {
    for (const record of this.records.values()) {
      for (const { since, k, fence } of this.#dooms) {
        if (record.token <= fence && (k === undefined || k === record.key)) {
          record.doomedAt = Math.min(record.doomedAt, since);
        }
      }
    }
    return [...this.records.values()];
  }

  #recordOf(id, { p, k, tok }) {
    let record = this.records.get(id);
    if (record === undefined) {
      record = new HoldRecord(id, p, k, tok, this.#invokes.get(id));
      this.#invokes.delete(id);
      this.records.set(id, record);
    }
    return record;
  }

  #look(record, { e, t, tok, held, r, inner }) {
    if (record.token !== tok) {
      this.findings.add('token-changed', t, `${record} says that its token is ${tok}`);
    }
    if (held) {
      if (record.lostAt <= t || record.overAt <= t) {
        this.findings.add('held-after-loss', t, `${record} was over and says again that it is held`);
      }
      record.from = Math.min(record.from, t);
      record.provenUntil = Math.max(record.provenUntil, t + r);
    } else if (!inner) {
      record.overAt = Math.min(record.overAt, t);
    }
    if (e === 'rel') record.releasedAt = t;
  }

  #lost(record, { t }) {
    if (record === undefined) return;
    record.lostAt = Math.min(record.lostAt, t);
  }

  #answered(record, { t, out }) {
    if (record === undefined) return;
    record.answeredAt = t;
    record.outcome = out;
    if (out === 'released' && (record.lostAt < record.releasedAt || record.overAt < record.releasedAt)) {
      this.findings.add('released-after-loss', t, `${record} was lost and its release answered "released"`);
    }
  }
}
