const LEASE = 30_000;

export const processOf = (owner) => owner.slice(0, owner.indexOf(':'));

/** Whether callers with these limits may use the same key: exclusive ones go with readers. */
function agree(one, other) {
  return one === other || ((one === 1 || one === Infinity) && (other === 1 || other === Infinity));
}

/**
 * What the scripts of a store do for one key, in single steps. `test/integration/store-model.test.ts` compares it with the
 * real scripts in a real Redis.
 */
export class StoreModel {
  holders = [];
  queue = [];
  tombstones = new Set();
  token = 0;

  room(limit) {
    if (limit === 1) return this.holders.length === 0;
    return this.holders.every((holder) => holder.limit === limit) && this.holders.length < limit;
  }

  othersWait(owner) {
    return this.queue.some((each) => processOf(each.owner) !== processOf(owner));
  }

  grant({ owner, limit, tokens }) {
    const token = this.token + 1;
    this.token += tokens;
    this.holders.push({ owner, limit, token, tokens });
    return { token, since: 0, tokens, othersWait: this.othersWait(owner) };
  }

  acquire({ owner, limit, tokens }) {
    if (this.tombstones.has(owner)) return { outcome: 'cancelled' };
    const held = this.holders.find((holder) => holder.owner === owner);
    if (held !== undefined) {
      return {
        outcome: 'granted',
        token: held.token,
        since: 0,
        tokens: held.tokens,
        othersWait: this.othersWait(owner),
      };
    }
    const other = [...this.holders, ...this.queue].find((each) => !agree(each.limit, limit));
    if (other !== undefined) return { outcome: 'conflict', limit: other.limit };
    const place = this.queue.findIndex((each) => each.owner === owner);
    const isFirst = place === 0 || (place === -1 && this.queue.length === 0);
    if (isFirst && this.room(limit)) {
      if (place === 0) this.queue.shift();
      return { outcome: 'granted', ...this.grant({ owner, limit, tokens }) };
    }
    if (place === -1) this.queue.push({ owner, limit });
    return { outcome: 'queued', holderLeaseLeft: LEASE };
  }

  /** Grants that are pushed because something was released. */
  handOver() {
    const grants = [];
    for (let [next] = this.queue; next !== undefined && this.room(next.limit); [next] = this.queue) {
      this.queue.shift();
      const { owner, limit } = next;
      grants.push({ owner, ...this.grant({ owner, limit, tokens: limit === 1 ? 1 : 4 }) });
    }
    return grants;
  }

  /** Only of a holder: one that waits stays in the queue. */
  release(owner) {
    this.holders = this.holders.filter((each) => each.owner !== owner);
    return this.handOver();
  }

  cancel(owner) {
    this.queue = this.queue.filter((each) => each.owner !== owner);
    this.tombstones.add(owner);
    return this.release(owner);
  }

  reserve({ owner, tokens }) {
    if (!this.holders.some((each) => each.owner === owner)) return { outcome: 'gone' };
    const token = this.token + 1;
    this.token += tokens;
    return { outcome: 'reserved', token, othersWait: this.othersWait(owner) };
  }
}
