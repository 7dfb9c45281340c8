/** How long a waiter stays in the queue without asking again, and how long requests of a withdrawn owner are refused, ms. */
const WAITER_TTL = 3_000;
const TOMBSTONE_TTL = 60_000;
/** The lease of a grant that is pushed, ms, until its owner claims it. */
const CLAIM_LEASE = 2_000;

export const processOf = (owner) => owner.slice(0, owner.indexOf(':'));

/** Whether callers with these limits may use the same key: exclusive ones go with readers. */
function agree(one, other) {
  return one === other || ((one === 1 || one === Infinity) && (other === 1 || other === Infinity));
}

/**
 * What the scripts of a store do for one key, in single steps, each with its reply and the messages that it publishes.
 * `compare-with-redis.mjs` compares it with the real scripts in a real Redis whose clock it moves.
 */
export class StoreModel {
  /** ms; whoever moves it decides when leases expire. */
  now = 0;
  holders = [];
  queue = [];
  /** The keys of the queue expire then, whoever is in it. */
  queueEnds = -Infinity;
  /** Owner to the end of its tombstone. */
  tombstones = new Map();
  lastToken = 0;
  /** Processes whose subscription is down. */
  deaf = new Set();
  /** Processes that listen at a replica: the server does not count them, but what it publishes reaches them. */
  relayed = new Set();
  messages = [];

  copy() {
    const copy = Object.assign(new StoreModel(), this);
    copy.holders = this.holders.map((holder) => ({ ...holder }));
    copy.queue = this.queue.map((waiter) => ({ ...waiter }));
    copy.tombstones = new Map(this.tombstones);
    copy.deaf = new Set(this.deaf);
    copy.relayed = new Set(this.relayed);
    return copy;
  }

  /** Returns a function that goes back to the present state. */
  snapshot() {
    const copy = this.copy();
    return () => void Object.assign(this, copy);
  }

  /** When something ends. */
  get ends() {
    const ends = [
      ...this.holders.map((holder) => holder.ends),
      ...this.queue.map((waiter) => waiter.aliveUntil),
      ...this.tombstones.values(),
    ];
    return this.queue.length > 0 ? [...ends, this.queueEnds] : ends;
  }

  acquire(request) {
    return this.step(() => this.acquired(request));
  }

  /** The quick way to a lock that is free and that nobody waits for. */
  take({ owner, limit, permits = 1, lease, tokens }) {
    return this.step(() => {
      const isKnown = this.tombstones.has(owner) || this.holders.some((each) => each.owner === owner);
      if (isKnown || this.queue.length > 0 || !this.room(limit, permits)) return { outcome: 'refused' };
      return { outcome: 'granted', token: this.grant({ owner, limit, permits, tokens }, lease, false).token };
    });
  }

  /** Only of a holder: one that waits stays in the queue. */
  release({ owner }) {
    return this.step(() => this.free(owner));
  }

  cancel({ owner, inDoubt = true }) {
    return this.step(() => {
      this.leaveQueue(owner);
      if (inDoubt) this.bury(owner);
      return this.free(owner);
    });
  }

  renew(request) {
    return this.step(() => ({ outcome: this.renewed(request) }));
  }

  reserve(request) {
    return this.step(() => {
      const outcome = this.renewed(request);
      if (outcome !== 'renewed') return { outcome };
      const token = this.reserveTokens(request.tokens);
      return { outcome: 'reserved', token, othersWait: this.othersWait(request.owner) };
    });
  }

  /** For a member of a quorum: the hold with the granted token goes by this one, and later ones are larger than `floor`. */
  raise({ owner, granted, token, floor }) {
    return this.step(() => {
      this.lastToken = Math.max(this.lastToken, floor);
      const mine = this.holders.find((holder) => holder.owner === owner);
      if (mine?.token === granted) mine.token = token;
      return {};
    });
  }

  /** Breaks the hold of one owner, or all of them. */
  breakHolds({ owner }) {
    return this.step(() => {
      const broken = this.holders.filter((each) => owner === undefined || each.owner === owner);
      if (broken.length === 0 && this.holders.length > 0) return { outcome: 'held-by-others' };
      this.holders = this.holders.filter((each) => !broken.includes(each));
      for (const each of broken) this.publish(each.owner, { kind: 'broken' });
      this.serve();
      return { outcome: broken.length > 0 ? 'broken' : 'free' };
    });
  }

  /** Only drops what has ended by now. */
  look() {
    this.step(() => undefined);
  }

  /** What has ended by now is gone before anything else. */
  step(request) {
    const { now } = this;
    // Redis keeps a key to the end of the millisecond; the scripts compare the end of a shared hold themselves.
    this.holders = this.holders.filter(({ limit, ends }) => (limit === 1 ? ends >= now : ends > now));
    if (now > this.queueEnds) this.queue = [];
    for (const owner of [...this.tombstones.keys()]) {
      if (!this.isKeptWithOthers(owner)) this.tombstones.delete(owner);
    }
    this.messages = [];
    const reply = request();
    return { reply, messages: this.messages };
  }

  acquired({ owner, limit, permits = 1, lease, tokens, wait = true, claimLease = CLAIM_LEASE }) {
    if (this.tombstones.has(owner)) return { outcome: 'cancelled' };
    const mine = this.holders.find((holder) => holder.owner === owner);
    if (mine !== undefined) {
      this.prolong(mine, lease);
      // The other tokens that were reserved with the grant may be in use.
      return { outcome: 'granted', token: mine.token, tokens: 1, othersWait: this.othersWait(owner) };
    }
    const known = wait ? this.queue.find((waiter) => waiter.owner === owner) : undefined;
    const others = this.holders[0] ?? (known === undefined ? this.queue.at(-1) : undefined);
    if (others !== undefined && !agree(limit, others.limit)) {
      this.leaveQueue(owner);
      this.serve();
      return { outcome: 'conflict', limit: others.limit };
    }
    if (wait) {
      const heard = known === undefined || known.heard === 'always' ? 'always' : 'again';
      const waiter = { owner, limit, permits, tokens, claimLease, heard, aliveUntil: this.now + WAITER_TTL };
      if (known === undefined) this.queue.push(waiter);
      else Object.assign(known, waiter);
      this.queueEnds = this.now + WAITER_TTL;
    }
    if (!this.isExclusive && this.handOver(owner) && this.room(limit, permits)) {
      this.leaveQueue(owner);
      const { token } = this.grant({ owner, limit, permits, tokens }, lease, false);
      if (limit !== 1) this.handOver();
      return { outcome: 'granted', token, tokens, othersWait: this.othersWait(owner) };
    }
    return { outcome: wait ? 'queued' : 'busy', holderLeaseLeft: this.roomAt(limit, permits) - this.now };
  }

  get isExclusive() {
    return this.holders[0]?.limit === 1;
  }

  room(limit, permits) {
    if (limit === 1) return this.holders.length === 0;
    return this.holders.every((holder) => holder.limit === limit) && this.held + permits <= limit;
  }

  /** The permits of all holders. */
  get held() {
    return this.holders.reduce((sum, { permits }) => sum + permits, 0);
  }

  /** When enough leases have ended. */
  roomAt(limit, permits) {
    const leases = [...this.holders].sort((one, other) => one.ends - other.ends);
    if (limit === 1) return leases.at(-1)?.ends ?? -Infinity;
    let { held } = this;
    return leases.find((lease) => (held -= lease.permits) + permits <= limit)?.ends ?? Infinity;
  }

  othersWait(owner) {
    return this.queue.some((each) => processOf(each.owner) !== processOf(owner));
  }

  reserveTokens(count) {
    const first = Math.max(this.lastToken + 1, this.now * 1_000);
    this.lastToken = first + count - 1;
    return first;
  }

  grant({ owner, limit, permits, tokens }, lease, isUnclaimed) {
    const token = this.reserveTokens(tokens);
    const holder = { owner, limit, permits, token, ends: this.now + lease, isUnclaimed };
    this.holders.push(holder);
    return holder;
  }

  /** Sets the lease at the first claim of a pushed grant or if told so, and never shortens it otherwise. */
  prolong(holder, lease, exactly = false) {
    const ends = this.now + lease;
    holder.ends = exactly || holder.isUnclaimed ? ends : Math.max(holder.ends, ends);
    holder.isUnclaimed = false;
  }

  renewed({ owner, lease, exactly }) {
    const mine = this.holders.find((holder) => holder.owner === owner);
    if (mine === undefined) return this.isExclusive ? 'taken' : 'gone';
    if (lease > 0) this.prolong(mine, lease, exactly);
    return 'renewed';
  }

  free(owner) {
    const isHeld = this.holders.some((each) => each.owner === owner);
    this.holders = this.holders.filter((each) => each.owner !== owner);
    this.serve();
    return { outcome: isHeld ? 'released' : 'not-held' };
  }

  serve() {
    if (!this.isExclusive) this.handOver();
  }

  /** Grants to waiters in order while there is room. Returns whether nobody is left before `asking`, who needs no message. */
  handOver(asking) {
    for (const waiter of [...this.queue]) {
      const { owner, limit, permits, tokens, claimLease, heard } = waiter;
      if (waiter.aliveUntil < this.now) {
        this.leaveQueue(owner);
        continue;
      }
      if (!this.room(limit, permits)) return false;
      if (owner === asking) return true;
      // One that polled although nobody listened finds its grant by its next poll.
      const isBack = heard === 'again';
      if (!this.isReachable(processOf(owner)) && !isBack) {
        waiter.heard = 'not';
        continue;
      }
      const { token } = this.grant(waiter, isBack ? Math.max(claimLease, CLAIM_LEASE) : claimLease, true);
      this.publish(owner, {
        kind: 'granted',
        token,
        lease: claimLease,
        tokens,
        othersWait: this.othersWait(owner),
      });
      this.leaveQueue(owner);
      if (limit === 1) return false;
    }
    return true;
  }

  leaveQueue(owner) {
    this.queue = this.queue.filter((each) => each.owner !== owner);
  }

  /** As far as the server knows. */
  isReachable(process) {
    return !this.deaf.has(process) && !this.relayed.has(process);
  }

  publish(owner, message) {
    if (!this.deaf.has(processOf(owner))) this.messages.push({ owner, ...message });
  }

  bury(owner) {
    const process = processOf(owner);
    // Up to two that have expired, the oldest first, make way for the new one.
    const oldest = [...this.tombstones].filter(([each]) => processOf(each) === process).slice(0, 2);
    for (const [each, until] of oldest) if (until <= this.now) this.tombstones.delete(each);
    this.tombstones.delete(owner);
    this.tombstones.set(owner, this.now + TOMBSTONE_TTL);
  }

  /** The tombstones of a process are one key, which expires with the last of them. */
  isKeptWithOthers(owner) {
    return [...this.tombstones].some(
      ([each, until]) => processOf(each) === processOf(owner) && until >= this.now,
    );
  }
}
