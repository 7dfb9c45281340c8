/** How long requests of a withdrawn owner are refused, ms. */
const TOMBSTONE_TTL = 60_000;
/** How many tokens a grant has at most while others wait, and how long a turn then is, ms. */
const SHORT_TURN = { holds: 8, ms: 10 };

export const processOf = (owner) => owner.slice(0, owner.indexOf(':'));

/**
 * What the scripts for Redisson's locks do for one key, and what Redisson does with it, in single steps, each with its
 * reply and the messages that it publishes.
 */
export class RedissonModel {
  /** ms */
  now = 0;
  /** What is at the name of the lock: its kind, the fields of a hash, and when it expires. */
  lock = undefined;
  lastToken = 0;
  /** Owner to the end of its tombstone. */
  tombstones = new Map();
  /** Waiters of an `RFairLock`, and when they give up. */
  fairQueue = [];
  /** Clients that listen on the channel of the lock. */
  listeners = new Set();
  /** The last token of process B when it granted locks by itself; process A never does. */
  localToken = 0;
  messages = [];

  copy() {
    const copy = Object.assign(new RedissonModel(), this);
    if (this.lock !== undefined) copy.lock = { ...this.lock, fields: { ...this.lock.fields } };
    copy.tombstones = new Map(this.tombstones);
    copy.fairQueue = [...this.fairQueue];
    copy.listeners = new Set(this.listeners);
    return copy;
  }

  /** When something ends. */
  get ends() {
    const times = [...this.tombstones.values(), ...this.fairQueue.map(({ until }) => until)];
    return this.lock === undefined ? times : [this.lock.ends, ...times];
  }

  /** For one owner after the other, as in one call. */
  take(requests) {
    return this.step(() => requests.map((request) => this.taken(request)));
  }

  release(requests) {
    return this.step(() =>
      requests.map(({ owner, inDoubt }) => {
        const isHeld = this.isHeldBy(owner);
        if (isHeld) this.free();
        if (inDoubt) this.bury(owner);
        return isHeld ? 'released' : 'not-held';
      }),
    );
  }

  renew(request) {
    return this.step(() => ({ outcome: this.renewed(request) }));
  }

  reserve(request) {
    return this.step(() => {
      const outcome = this.renewed(request);
      if (outcome !== 'renewed') return { outcome };
      const token = this.reserveTokens(request.tokens, request.owner);
      return { outcome: 'reserved', token, othersWait: this.othersWait(request.owner) };
    });
  }

  inspect() {
    return this.step(() => {
      if (this.lock?.kind !== 'hash') return null;
      const { fields, ends } = this.lock;
      const { mode, token, since } = fields;
      const numberIn = (text) => (text === undefined ? undefined : Number(text));
      const holders = this.owners.map((owner) => ({
        owner,
        token: numberIn(token),
        since: numberIn(since),
        leaseLeft: ends - this.now,
        permits: 1,
        label: undefined,
      }));
      return { limit: mode === 'read' ? Infinity : 1, holders, listeners: this.listeners.size };
    });
  }

  breakHold({ owner, token } = {}) {
    return this.step(() => {
      if (this.lock === undefined) return 'free';
      const { kind, fields } = this.lock;
      if (kind !== 'hash') return { outcome: 'other', type: kind };
      if ('mode' in fields) return { outcome: 'other', type: 'RReadWriteLock' };
      const isNamed =
        (owner === undefined || owner in fields) && (token === undefined || token === Number(fields.token));
      if (!isNamed) return 'held-by-others';
      const told = 'token' in fields ? this.owners : [];
      this.free();
      for (const each of told) this.messages.push({ to: processOf(each), text: `broken ${each}` });
      return 'broken';
    });
  }

  /** @param ms the lease, or how long a waiter waits */
  java(operation, owner, ms) {
    return this.step(() => this[operation](owner, ms));
  }

  reentrantLock(owner, ms) {
    if (this.lock?.kind === 'string') return 'other';
    if (this.lock !== undefined && !this.isHeldBy(owner)) return this.lock.ends - this.now;
    this.lock ??= { kind: 'hash', fields: {} };
    const { fields } = this.lock;
    fields[owner] = String(Number(fields[owner] ?? 0) + 1);
    this.lock.ends = this.now + ms;
    return 'locked';
  }

  fencedLock(owner, ms) {
    const reply = this.reentrantLock(owner, ms);
    return reply === 'locked' ? ['token', this.reserveTokens(1)] : reply;
  }

  unlock(owner, ms) {
    if (this.lock?.kind === 'string') return 'other';
    if (!this.isHeldBy(owner)) return 'not held';
    const { fields } = this.lock;
    const count = Number(fields[owner]) - 1;
    if (count > 0) {
      fields[owner] = String(count);
      this.lock.ends = this.now + ms;
      return count;
    }
    return this.forceUnlock();
  }

  renewLock(owner, ms) {
    if (this.lock?.kind === 'string') return 'other';
    if (!this.isHeldBy(owner)) return 'not held';
    this.lock.ends = this.now + ms;
    return 'renewed';
  }

  forceUnlock() {
    if (this.lock === undefined) return 'free';
    this.lock = undefined;
    this.messages.push({ to: 'channel', text: '0' });
    return 'unlocked';
  }

  lockToRead(owner, ms) {
    if (this.lock !== undefined) return 'other';
    this.lock = { kind: 'hash', fields: { mode: 'read', [owner]: '1' }, ends: this.now + ms };
    return 'locked';
  }

  makeString(_, ms) {
    if (this.lock !== undefined) return 'other';
    this.lock = { kind: 'string', fields: {}, ends: this.now + ms };
    return 'made';
  }

  queue(owner, ms) {
    const isQueued = this.fairQueue.some((waiter) => waiter.owner === owner);
    if (!isQueued) this.fairQueue.push({ owner, until: this.now + ms });
    return 'queued';
  }

  leaveQueue(owner) {
    const before = this.fairQueue.length;
    this.fairQueue = this.fairQueue.filter((waiter) => waiter.owner !== owner);
    return before - this.fairQueue.length;
  }

  /** Only drops what has ended by now. */
  look() {
    this.step(() => undefined);
  }

  step(request) {
    const { now } = this;
    if (this.lock !== undefined && this.lock.ends < now) this.lock = undefined;
    // They are one key, which expires with the last of them.
    if ([...this.tombstones.values()].every((until) => until < now)) this.tombstones.clear();
    this.messages = [];
    const reply = request();
    return { reply, messages: this.messages };
  }

  taken({ owner, lease, tokens }) {
    if (this.lock !== undefined && this.lock.kind !== 'hash')
      return { outcome: 'other', type: this.lock.kind };
    if (this.isHeldBy(owner)) {
      this.keep(lease, lease > 0);
      const { token, since } = this.lock.fields;
      return this.granted(owner, Number(token), Number(since), 1);
    }
    if (this.tombstones.has(owner)) return { outcome: 'cancelled' };
    if (this.lock !== undefined) return { outcome: 'held', leaseLeft: this.lock.ends - this.now };
    if (this.firstFairWaiter !== undefined) return { outcome: 'held', leaseLeft: undefined };
    const count = this.othersWait(owner) ? Math.min(tokens, SHORT_TURN.holds) : tokens;
    const token = this.reserveTokens(count, owner);
    const fields = { [owner]: '1', token: String(token), since: String(this.now) };
    if (lease < 0) fields.unclaimed = '1';
    this.lock = { kind: 'hash', fields, ends: this.now + Math.abs(lease) };
    return this.granted(owner, token, this.now, count);
  }

  granted(owner, token, since, tokens) {
    const grant = { outcome: 'granted', token, since, tokens };
    return this.othersWait(owner) ? { ...grant, othersWait: true, turn: SHORT_TURN.ms } : grant;
  }

  renewed({ owner, lease, exactly = false }) {
    if (!this.isHeldBy(owner)) return this.lock === undefined ? 'gone' : 'taken';
    if (lease > 0) this.keep(lease, true, exactly);
    return 'renewed';
  }

  /** Sets the lease at the first claim of a pushed grant or if told so, and never shortens it otherwise. */
  keep(lease, isClaim, exactly = false) {
    const { fields } = this.lock;
    const ends = this.now + Math.abs(lease);
    const isFirst = isClaim && 'unclaimed' in fields;
    if (isFirst) delete fields.unclaimed;
    if (exactly || isFirst || this.lock.ends < ends) this.lock.ends = ends;
  }

  free() {
    this.lock = undefined;
    this.messages.push({ to: 'channel', text: '0' });
    const waiter = this.firstFairWaiter;
    if (waiter !== undefined) this.messages.push({ to: `channel:${waiter}`, text: '0' });
  }

  get owners() {
    return Object.keys(this.lock.fields).filter((name) => name.includes(':'));
  }

  get firstFairWaiter() {
    return this.fairQueue.find(({ until }) => until > this.now)?.owner;
  }

  isHeldBy(owner) {
    return this.lock?.kind === 'hash' && owner in this.lock.fields;
  }

  othersWait(owner) {
    const own = this.listeners.has(processOf(owner)) ? 1 : 0;
    return this.fairQueue.length > 0 || this.listeners.size > own;
  }

  /** @param owner undefined for Java */
  reserveTokens(count, owner) {
    const isLocal = owner !== undefined && processOf(owner) === 'B';
    const least = isLocal ? Math.max(this.localToken + 1, this.now * 1_000) : 0;
    const first = Math.max(this.lastToken + 1, least);
    this.lastToken = first + count - 1;
    return first;
  }

  bury(owner) {
    // Up to two that have expired, the oldest first, make way for the new one.
    const oldest = [...this.tombstones].sort(byTime).slice(0, 2);
    for (const [each, until] of oldest) if (until <= this.now) this.tombstones.delete(each);
    this.tombstones.set(owner, this.now + TOMBSTONE_TTL);
  }
}

function byTime([owner, until], [other, otherUntil]) {
  return until - otherUntil || (owner < other ? -1 : 1);
}
