/**
 * What the locks of a run guard: it remembers the largest token that wrote under each key and refuses smaller ones, as
 * a database with a condition on the token would. A judge from outside, that knows nothing of leases.
 */
export class FencedResource {
  #largest = new Map();
  accepted = 0;
  refused = 0;

  /** @returns {boolean} whether the write was taken */
  write(key, token) {
    const largest = this.#largest.get(key) ?? 0;
    const taken = token >= largest;
    if (taken) this.#largest.set(key, token);
    this[taken ? 'accepted' : 'refused'] += 1;
    return taken;
  }
}
