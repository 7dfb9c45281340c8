/** Checks what observers outside the processes saw: the fenced resource, the witness files, the server at the end. */
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
      this.findings.add('two-inside', t, `${k}: ${p}/${i} (token ${tok}) found the file of another holder`);
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
          `${k}: ${p}/${i} certainly held it, and its token ${tok} was rejected`,
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

  /** Only the token counter may stay, and for a while the tombstones of requests that may arrive late. */
  #left(t, name, ttl) {
    // A Cluster has one for each slot.
    if (/^lock:@:fence(:\{\d+\})?$/.test(name)) return;
    if (name.startsWith('lock:@:gone:') && ttl > 0) return;
    this.findings.add('left-behind', t, `${name} (${ttl < 0 ? 'without expiry' : `expires in ${ttl} ms`})`);
  }
}
