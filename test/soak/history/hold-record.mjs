/**
 * What is known about one hold. Only what is certain counts, so that a finding is a fault of the lock and not of the
 * observer:
 *
 * - The hold started no later than the first observation at which its handle was held; the grant itself may be earlier.
 * - It lasted until the release was called, its loss was reported, or the last proof expired (the time of an observation
 *   plus its `remaining`), whichever came first.
 * - A hold that was ended from outside (the operator broke the lock, the server lost its data) is certain only until
 *   then: its process continues in good faith before it is notified. Tokens show whether a hold was granted before that,
 *   since the server counts all grants, including those that no process has recorded yet, such as the rest of a block of
 *   tokens for hand-overs inside a process.
 */
export class HoldRecord {
  from = Infinity;
  provenUntil = -Infinity;
  releasedAt = Infinity;
  lostAt = Infinity;
  /** The first observation at which it was no longer held. */
  overAt = Infinity;
  /** When the release ended, and with which outcome. */
  answeredAt = Infinity;
  outcome = undefined;
  doomedAt = Infinity;
  /** When its process joined the queue, if that is known. */
  queuedSince = undefined;

  constructor(id, process, key, token, { t, kind = 'exclusive', permits = 1, limit = 1 } = {}) {
    this.id = id;
    this.process = process;
    this.key = key;
    this.token = token;
    this.invokedAt = t;
    Object.assign(this, { kind, permits, limit });
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
    const end = this.end === -Infinity ? 'never certainly held' : `${this.end.toFixed(2)}`;
    return `${this.id} (token ${this.token}, ${this.from.toFixed(2)} – ${end})`;
  }
}

/** Builds the records from events, and checks each hold by itself. */
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
        this.#invokes.set(id, event);
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

  /** All holds, with the effects of the operator and of data loss. */
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
      this.findings.add('token-changed', t, `${record} reports token ${tok}`);
    }
    if (held) {
      if (record.lostAt <= t || record.overAt <= t) {
        this.findings.add('held-after-loss', t, `${record} had ended and reports again that it is held`);
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
      this.findings.add('released-after-loss', t, `${record} was lost and its release returned "released"`);
    }
  }
}
