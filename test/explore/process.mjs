// One process, as a store sees it.

export const KEY = 'key';
export const LEASE = 10_000;
const CLAIM_LEASE = 2_000;

/** A process that uses a session, `session`, as the engine would: it asks, asks again, claims, renews, releases, withdraws. */
export class Process {
  state = 'idle';
  number = 0;
  /** How many requests it has made for its owner. */
  asked = 0;
  /** Whether its requests say that the lock is held. */
  isContended = false;
  /** Whether the watchdog renews its holds; otherwise each lasts as long as its lease. */
  isRenewed = true;
  /** The claim leases of its requests, one after the other; the last one repeats. */
  claimLeases = [CLAIM_LEASE];
  /** Whether it extends each pushed grant, even before it claims it. */
  extendsAtOnce = false;
  deadline = -Infinity;
  token = 0;

  /** @param rate of its clock */
  constructor(world, id, { limit, permits, rate = 1 }, { deadlineOf }) {
    this.world = world;
    this.id = id;
    this.limit = limit;
    this.permits = permits;
    this.rate = rate;
    this.deadlineOf = deadlineOf;
    const ignore = () => undefined;
    this.client = {
      id,
      watchdogTimeout: LEASE,
      now: () => this.now,
      granted: (owner, grant) => this.granted(owner, grant),
      broken: (owner) => owner === this.owner && this.end(),
      heldByOthers: ignore,
      pollNow: ignore,
      reconnected: ignore,
      locksLocally: ignore,
      warn: ignore,
    };
  }

  get now() {
    return this.world.now * this.rate;
  }

  get owner() {
    return `${this.id}:${this.number}`;
  }

  get isRelying() {
    return this.state === 'holds' && this.now < this.deadline;
  }

  get isWaiting() {
    return this.state === 'asks' || this.state === 'waits';
  }

  call() {
    this.number += 1;
    this.asked = 0;
    this.ask(true);
  }

  try() {
    this.number += 1;
    this.asked = 0;
    this.ask(false);
  }

  ask(wait = true) {
    const { owner, world } = this;
    this.state = 'asks';
    const sentAt = this.now;
    const { [this.asked]: claimLease = this.claimLeases.at(-1) } = this.claimLeases;
    this.asked += 1;
    const terms = {
      lease: LEASE,
      isRenewed: this.isRenewed,
      claimLease,
      limit: this.limit,
      permits: this.permits,
      label: undefined,
    };
    const request = { key: KEY, owner, ...terms, wait, callers: 1, tokens: 1, contended: this.isContended };
    this.session.acquire(request).then(
      (reply) => {
        if (owner !== this.owner || !this.isWaiting) return;
        this.state = wait ? 'waits' : 'idle';
        if (reply.outcome === 'granted') this.start(reply.token, this.deadlineOf(sentAt, LEASE));
        else if (reply.outcome !== (wait ? 'queued' : 'busy'))
          world.violation(`${this.id} ${wait ? 'waits' : 'tries'}, and got the reply ${reply.outcome}`);
      },
      ({ inDoubt }) => {
        if (owner !== this.owner || this.state !== 'asks') return;
        if (wait) this.state = 'waits';
        else if (inDoubt) this.withdraw();
        else this.state = 'idle';
      },
    );
  }

  granted(owner, { token, startedAt, lease }) {
    if (owner !== this.owner || !this.isWaiting) return;
    const deadline = this.deadlineOf(startedAt, lease);
    if (this.now < deadline) {
      this.start(token, deadline);
      if (this.extendsAtOnce) this.renew(2 * LEASE);
      this.renew();
    } else if (this.state === 'waits') this.ask();
  }

  start(token, deadline) {
    this.state = 'holds';
    this.deadline = deadline;
    this.token = token;
    if (this.isRelying) this.world.started(this);
    else this.end();
  }

  renew(lease = LEASE) {
    const { owner } = this;
    const sentAt = this.now;
    const request = { key: KEY, owner, lease, isRenewed: this.isRenewed };
    void this.session.renew([request]).then(([reply]) => {
      if (owner !== this.owner || this.state !== 'holds') return;
      if (reply === 'renewed') this.deadline = Math.max(this.deadline, this.deadlineOf(sentAt, lease));
      else if (reply === 'gone' || reply === 'taken') this.end();
    });
  }

  /** Takes tokens for the next holds of this process. */
  reserve() {
    const { owner, world } = this;
    const sentAt = this.now;
    const request = { key: KEY, owner, lease: LEASE, isRenewed: this.isRenewed, tokens: 2 };
    this.session.reserve(request).then(
      ({ outcome, token }) => {
        if (owner !== this.owner || this.state !== 'holds') return;
        if (outcome !== 'reserved') this.end();
        else {
          this.deadline = Math.max(this.deadline, this.deadlineOf(sentAt, LEASE));
          world.gives(token, request.tokens);
        }
      },
      () => undefined,
    );
  }

  /** The hold has ended, or was lost: in both cases it is given back. */
  end() {
    if (this.state !== 'holds') return;
    this.state = 'ends';
    this.leave(true, false);
  }

  withdraw() {
    const inDoubt = this.state === 'asks';
    this.state = 'ends';
    this.leave(false, inDoubt);
  }

  /** Repeated until it gets through, as the engine does. */
  leave(wasGranted, inDoubt) {
    this.retry = undefined;
    this.session.release({ key: KEY, owner: this.owner, wasGranted, inDoubt }).then(
      () => (this.state = 'idle'),
      (error) => {
        if (error.retryable) this.retry = () => this.leave(wasGranted, inDoubt || error.inDoubt);
        else this.state = 'idle';
      },
    );
  }
}
