// One process on a quorum: the real code with a connection to each member.

import { StoreModel } from './store-model.mjs';

const KEY = 'key';
const LEASE = 10_000;
const CLAIM_LEASE = 2_000;

/** One member: a model of a store, which can be away for a while. */
export class Member {
  isAway = false;
  store = new StoreModel();

  /** @param skew by how much its clock is ahead, ms: tokens start from it */
  constructor(world, id, skew) {
    this.world = world;
    this.id = id;
    this.skew = skew;
  }

  /** The store, by its clock. */
  get present() {
    this.store.now = this.world.now + this.skew;
    return this.store;
  }

  hasGrantedTo(owner) {
    return this.present.holders.some((holder) => baseOf(holder.owner) === baseOf(owner));
  }
}

/** An owner goes by another name at a member that it has left. */
const baseOf = (owner) => owner.replace(/\.\d+$/, '');

/** One connection of a process to a member: requests and answers keep their order, and so do pushes. */
class Connection {
  requests = [];
  answers = [];
  pushes = [];

  constructor(world, member) {
    this.world = world;
    this.member = member;
  }

  send(kind, request) {
    const { world, member } = this;
    return new Promise((resolve, reject) => {
      if (member.isAway) reject(world.failure(false));
      else this.requests.push({ kind, request, resolve, reject });
    });
  }

  /** The first request is carried out; its answer is on the way. */
  deliver() {
    const { kind, request, resolve, reject } = this.requests.shift();
    const { reply, messages = [] } = executed(this.member.present, kind, request);
    this.answers.push({ kind, owner: request.owner, reply, resolve, reject });
    for (const message of messages) this.world.push(this.member, message);
  }

  /** Whatever is under way is in doubt. */
  cut() {
    for (const { reject } of [...this.answers, ...this.requests]) reject(this.world.failure(true));
    this.requests = [];
    this.answers = [];
    this.pushes = [];
  }
}

function executed(store, kind, request) {
  if (kind === 'renew') {
    const replies = request.map((each) => store.renew(each));
    return {
      reply: replies.map(({ reply }) => reply.outcome),
      messages: replies.flatMap(({ messages }) => messages),
    };
  }
  if (kind === 'inspect') return { reply: inspected(store) };
  if (kind === 'release') {
    const { reply, messages } = request.inDoubt ? store.cancel(request) : store.release(request);
    return { reply: reply.outcome, messages };
  }
  const { reply, messages } = store[kind](request);
  return { reply: { since: store.now, ...reply }, messages };
}

function inspected(store) {
  store.look();
  const { holders, queue, now } = store;
  if (holders.length === 0) return null;
  return {
    limit: holders[0].limit,
    holders: holders.map(({ owner, token, permits, ends }) => ({
      owner,
      token,
      permits,
      leaseLeft: ends - now,
    })),
    waiters: queue
      .filter(({ aliveUntil }) => aliveUntil >= now)
      .map(({ owner, limit, permits }) => ({ owner, limit, permits })),
  };
}

/** A process as the engine would use the session: it asks, asks again, claims, renews, releases, withdraws. */
export class Process {
  state = 'idle';
  number = 0;
  deadline = -Infinity;
  token = 0;

  constructor(world, id, { limit, permits }, { openQuorum, deadlineOf }) {
    this.world = world;
    this.id = id;
    this.limit = limit;
    this.permits = permits;
    this.deadlineOf = deadlineOf;
    this.connections = world.members.map((member) => new Connection(world, member));
    const members = this.connections.map((connection) => ({
      name: connection.member.id,
      open: (client) => this.open(connection, client),
    }));
    const ignore = () => undefined;
    this.acquires = new Map();
    const client = {
      id,
      watchdogTimeout: LEASE,
      now: () => world.now,
      granted: (owner, grant) => this.granted(owner, grant),
      broken: (owner) => owner === this.owner && this.end(),
      heldByOthers: ignore,
      pollNow: ignore,
      reconnected: ignore,
      locksLocally: ignore,
      warn: ignore,
    };
    this.session = openQuorum(members, client, this.acquires);
  }

  open(connection, client) {
    connection.client = client;
    const kinds = ['acquire', 'cancel', 'release', 'renew', 'reserve', 'raise', 'inspect'];
    const send = (kind) => (request) => connection.send(kind, request);
    return { ...Object.fromEntries(kinds.map((kind) => [kind, send(kind)])), close: () => Promise.resolve() };
  }

  get owner() {
    return `${this.id}:${this.number}`;
  }

  get isRelying() {
    return this.state === 'holds' && this.world.now < this.deadline;
  }

  get isWaiting() {
    return this.state === 'asks' || this.state === 'waits';
  }

  call() {
    this.number += 1;
    this.ask(true);
  }

  try() {
    this.number += 1;
    this.ask(false);
  }

  ask(wait = true) {
    const { owner, world } = this;
    this.state = 'asks';
    const sentAt = world.now;
    const terms = {
      lease: LEASE,
      isRenewed: true,
      claimLease: CLAIM_LEASE,
      limit: this.limit,
      permits: this.permits,
      label: undefined,
    };
    const request = { key: KEY, owner, ...terms, wait, callers: 1, tokens: 1, contended: false };
    this.session.acquire(request).then(
      (reply) => {
        if (owner !== this.owner || !this.isWaiting) return;
        this.state = wait ? 'waits' : 'idle';
        if (reply.outcome === 'granted') this.start(reply.token, this.deadlineOf(sentAt, LEASE));
        else if (reply.outcome !== (wait ? 'queued' : 'busy'))
          world.violation(`${this.id} ${wait ? 'waits' : 'tries'}, and is told ${reply.outcome}`);
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
    if (this.world.now < deadline) {
      this.start(token, deadline);
      this.renew();
    }
  }

  start(token, deadline) {
    this.state = 'holds';
    this.deadline = deadline;
    this.token = token;
    if (this.isRelying) this.world.started(this);
    else this.end();
  }

  renew() {
    const { owner, world } = this;
    const sentAt = world.now;
    const request = { key: KEY, owner, lease: LEASE, isRenewed: true };
    void this.session.renew([request]).then(([reply]) => {
      if (owner !== this.owner || this.state !== 'holds') return;
      if (reply === 'renewed') this.deadline = Math.max(this.deadline, this.deadlineOf(sentAt, LEASE));
      else if (reply === 'gone' || reply === 'taken') this.end();
    });
  }

  /** Takes tokens for the next holds of this process. */
  reserve() {
    const { owner, world } = this;
    const sentAt = world.now;
    const request = { key: KEY, owner, lease: LEASE, isRenewed: true, tokens: 2 };
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
    this.leave(() => this.session.release({ key: KEY, owner: this.owner, inDoubt: false }));
  }

  withdraw() {
    const inDoubt = this.state === 'asks';
    this.state = 'ends';
    this.leave(() => this.session.cancel({ key: KEY, owner: this.owner, inDoubt }));
  }

  /** Repeated until it gets through, as the engine does. */
  leave(request) {
    this.retry = undefined;
    request().then(
      () => (this.state = 'idle'),
      (error) => {
        if (error.retryable) this.retry = () => this.leave(request);
        else this.state = 'idle';
      },
    );
  }
}
