// One process on a quorum: the real code with a connection to each member.

import { Process } from './process.mjs';
import { StoreModel } from './store-model.mjs';

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
    const { reply, messages } =
      request.wasGranted && !request.inDoubt ? store.release(request) : store.cancel(request);
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

/** A process with a connection to each member. */
export class QuorumProcess extends Process {
  acquires = new Map();

  constructor(world, id, terms, modules) {
    super(world, id, terms, modules);
    this.connections = world.members.map((member) => new Connection(world, member));
    const members = this.connections.map((connection) => ({
      name: connection.member.id,
      open: (client) => this.open(connection, client),
    }));
    this.session = modules.openQuorum(members, this.client, this.acquires);
  }

  open(connection, client) {
    connection.client = client;
    const kinds = ['acquire', 'release', 'renew', 'reserve', 'raise', 'inspect'];
    const send = (kind) => (request) => connection.send(kind, request);
    return { ...Object.fromEntries(kinds.map((kind) => [kind, send(kind)])), close: () => Promise.resolve() };
  }
}
