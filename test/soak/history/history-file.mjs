import { closeSync, openSync, writeSync } from 'node:fs';

/** How long a process that was not notified may grant its lock to callers with a block of tokens, ms. */
const LONGEST_LEASE = 5_000;
const BUFFER = 1 << 16;

/**
 * Writes the history of a run as operations, one JSON object in each line, for judges that others wrote. docs/internals/soak.md
 * describes the format.
 *
 * @param {Iterable<object>} events in order of their time
 * @param {string} path
 * @returns {Iterable<object>} the same events; the file is complete after the last one
 */
export function* writeHistory(events, path) {
  const file = openSync(path, 'w');
  let text = '';
  const write = (line) => {
    text += `${JSON.stringify(line)}\n`;
    if (text.length > BUFFER) flush();
  };
  const flush = () => {
    writeSync(file, text);
    text = '';
  };
  const operations = new Operations(write);
  try {
    for (const event of events) {
      operations.see(event);
      yield event;
    }
    operations.finish();
    flush();
  } finally {
    closeSync(file);
  }
}

class Operations {
  #write;
  /** Calls without an outcome. */
  #waiting = new Map();
  #held = new Map();

  constructor(write) {
    this.#write = write;
  }

  see(event) {
    const { e, t, p, i } = event;
    const id = `${p}/${i}`;
    if (e === 'invoke') this.#waiting.set(id, event);
    else if (e === 'doomed') this.#broken(event);
    else if (e === 'fail') this.#failed(id, event);
    else if (e === 'ok') this.#granted(id, event);
    if (!this.#held.has(id)) return;
    if (e === 'ok' || e === 'chk' || e === 'rel') this.#looked(id, event);
    if (e === 'lost') this.#about(id, { op: 'lost', call: t, return: t, token: event.tok });
    if (e === 'rel') this.#held.get(id).releasing = event;
    if (e === 'rld') this.#released(id, { return: t, outcome: event.out });
    if (e === 'abandon') this.#held.delete(id);
  }

  /** Those without a reply. */
  finish() {
    for (const id of this.#waiting.keys()) this.#acquire(id, {});
    for (const id of this.#held.keys()) this.#released(id, {});
  }

  #granted(id, { t, tok }) {
    const { p, k, kind = 'exclusive' } = this.#waiting.get(id) ?? {};
    if (p === undefined) return;
    this.#acquire(id, { return: t, outcome: 'granted', token: tok });
    this.#held.set(id, { process: p, hold: id, key: k, kind });
  }

  #failed(id, { t, c }) {
    if (this.#waiting.has(id)) this.#acquire(id, { return: t, outcome: c });
    else if (this.#held.has(id)) this.#released(id, { return: t, outcome: c });
  }

  #acquire(id, reply) {
    const { p, k, t, kind = 'exclusive', permits, limit } = this.#waiting.get(id);
    this.#waiting.delete(id);
    const isCertain = ['granted', 'LOCK_TIMEOUT'].includes(reply.outcome);
    const request = { op: 'acquire', process: p, hold: id, key: k, kind, permits, limit, call: t };
    this.#write({ ...request, ...reply, ...(!isCertain && { inDoubt: true }) });
  }

  #looked(id, { t, tok, held, r, inner }) {
    if (!held && inner) return;
    const outcome = held ? 'held' : 'over';
    this.#about(id, { op: 'check', call: t, return: t, outcome, ...(held && { until: t + r }), token: tok });
  }

  #released(id, reply) {
    const { releasing } = this.#held.get(id);
    if (releasing !== undefined) {
      const isCertain = ['released', 'returned'].includes(reply.outcome);
      const request = { op: 'release', call: releasing.t, token: releasing.tok };
      this.#about(id, { ...request, ...reply, ...(!isCertain && { inDoubt: true }) });
    }
    this.#held.delete(id);
  }

  #broken({ t, since, k, fence }) {
    this.#write({ op: 'break', key: k, call: since, return: t + LONGEST_LEASE, token: fence });
  }

  #about(id, { op, ...operation }) {
    const { process, hold, key, kind } = this.#held.get(id);
    this.#write({ op, process, hold, key, kind, ...operation });
  }
}
