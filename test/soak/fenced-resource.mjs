/**
 * The resource that the locks of a run protect: it remembers the largest token written for each key and rejects smaller
 * ones, as a database with a condition on the token would. It is independent of leases.
 */
export class FencedResource {
  #largest = new Map();
  accepted = 0;
  refused = 0;

  /** @returns {boolean} whether the write was accepted */
  write(key, token) {
    const largest = this.#largest.get(key) ?? 0;
    const taken = token >= largest;
    if (taken) this.#largest.set(key, token);
    this[taken ? 'accepted' : 'refused'] += 1;
    return taken;
  }
}
