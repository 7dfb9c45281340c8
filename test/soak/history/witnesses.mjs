/** What others have seen: the resource that checks tokens, the file that only one may have, the server in the end. */
export class Witnesses {
  #writes = [];
  #largest = new Map();
  counts = { accepted: 0, refused: 0 };

  constructor(findings) {
    this.findings = findings;
  }

  see(event) {
    const { e, t, p, i, k, tok } = event;
    if (e === 'write') this.#write(event);
    if (e === 'witness' && event.held) {
      this.findings.add('two-inside', t, `${k}: ${p}/${i} (token ${tok}) found somebody else's file`);
    }
    if (e === 'left') {
      for (const { name, ttl } of event.keys) this.#left(t, name, ttl);
    }
  }

  /** @param {Map<string, import('./hold-record.mjs').HoldRecord>} records */
  finish(records) {
    for (const { t, p, i, k, tok } of this.#writes) {
      if (records.get(`${p}/${i}`)?.isCertainAt(t)) {
        this.findings.add(
          'holder-refused',
          t,
          `${k}: ${p}/${i} surely held it, and its token ${tok} was refused`,
        );
      }
    }
  }

  #write(event) {
    const { t, k, p, i, tok, taken } = event;
    this.counts[taken ? 'accepted' : 'refused'] += 1;
    const largest = this.#largest.get(k) ?? 0;
    if (!taken) this.#writes.push(event);
    else if (tok < largest) {
      this.findings.add('stale-write', t, `${k}: ${p}/${i} wrote with token ${tok} after ${largest}`);
    } else this.#largest.set(k, tok);
  }

  /** Only the counter may stay, and for a while tombstones of requests that may arrive late. */
  #left(t, name, ttl) {
    if (name === 'lock:@:fence') return;
    if (name.startsWith('lock:@:gone:') && ttl > 0) return;
    this.findings.add('left-behind', t, `${name} (${ttl < 0 ? 'without an end' : `ends in ${ttl} ms`})`);
  }
}
