// Two or three processes with the real line of one key each, and a model of a store: every message between them is
// delivered when the explorer says so. Deterministic: the same events lead to the same state.

import { violationsOf } from './invariants.mjs';
import { processOf, StoreModel } from './store-model.mjs';

/** Hand-overs in a row while others may wait: few, so that short runs reach the bound. */
export const MAX_HAND_OVERS = 2;
const KEY = 'key';
const LEASE = 30_000;
/** By how much time moves when it does: longer than a turn of a process (50 ms). */
const STEP = 60;

const LIMITS = { exclusive: 1, fair: 1, timed: 1, reader: Infinity, permit: 2, pair: 2, third: 3, most: 3 };
/** Of kinds that take several permits. */
const PERMITS = { pair: 2, most: 2 };

/** A call: what its line reads and does. */
class Caller {
  previous = undefined;
  next = undefined;
  place = undefined;
  prolonged = false;
  lateAfter = undefined;
  lateGrants = 0;
  isSettled = false;
  partOf = undefined;
  waitTime = 1_000;

  constructor(process, id, kind) {
    const { now } = process.world;
    this.process = process;
    this.id = id;
    this.kind = kind;
    this.limit = LIMITS[kind];
    this.permits = PERMITS[kind] ?? 1;
    this.fair = kind === 'fair';
    const leaseTime = kind === 'timed' ? 1_000 : undefined;
    this.options = { leaseTime, lastFailure: undefined };
    this.lease = leaseTime ?? LEASE;
    this.needsOwnTicket = this.fair || leaseTime !== undefined;
    this.startedAt = this.joinedAt = now;
  }

  begin() {}
  isOverdue() {
    return false;
  }
  prolong() {
    this.prolonged = true;
  }
  start(ticket, token) {
    this.#settle('started');
    ticket.addHolder(this);
    this.process.started(this, ticket, token);
  }
  /** The line has refused it. */
  stop() {
    this.#settle('refused');
  }
  #settle(what) {
    const { world } = this.process;
    if (this.isSettled) world.violation(`caller ${this.id} was ${what} after its outcome was there`);
    this.isSettled = true;
  }
}

/** A reply that a line follows. */
class Reply {
  then(done) {
    this.done = done;
  }
  arrive() {
    this.done?.();
  }
}

/** One process: what its line has of the engine. */
class Process {
  isClosing = false;
  holderLookups = new Map();
  hub = { observed: false };
  storeReporter = { answered() {}, waitFailed() {} };
  owners = 0;
  /** Requests on their way to the store, in order. */
  requests = [];
  /** Answers on their way back, in order; and pushed grants, which travel on a connection of their own. */
  answers = [];
  pushes = [];
  holds = [];
  /** The pauses of tickets. */
  pauses = new Map();
  wakesAt = undefined;

  constructor(world, id, modules) {
    this.world = world;
    this.id = this.clientId = id;
    this.modules = modules;
    this.clock = { monotonic: () => world.now };
    const refusal = (why) => () => why;
    this.reporter = {
      refuse() {},
      queued() {},
      closed: refusal('closed'),
      disagreement: refusal('limit'),
      lateGrant: refusal('late'),
      outOfTime: refusal('out of time'),
      timedOut: refusal('held'),
      unavailable: refusal('unavailable'),
    };
    this.session = {
      isCutOff: false,
      acquire: (request) => this.acquire(request),
      reserve: true,
    };
    this.timers = {
      set: (timer, time) => this.setTimer(timer, time),
      clear: (timer) => this.clearTimer(timer),
      within: () => new Promise(() => undefined),
    };
    this.tickets = {
      byOwner: new Map(),
      sendingAt: () => world.now,
      mayBeOver: () => false,
      isSure: ({ state }) => state === 'held',
      remaining: () => LEASE,
      expire: () => false,
      granted: (...grant) => this.hold(...grant),
      releaseUnused: (ticket) => this.release(ticket),
      withdraw: (_, owner, inDoubt) => this.remove({ kind: 'cancel', owner, inDoubt }),
      supersede: (ticket) => this.lose(ticket),
      reserve: (ticket, tokens, done) => {
        this.requests.push({
          kind: 'reserve',
          owner: ticket.owner,
          tokens,
          ticket,
          sentAt: world.now,
          done,
        });
      },
    };
    this.line = new modules.Line(KEY, this, () => undefined);
    this.recent = new modules.RecentReleases(id);
    /** An in-doubt failure, as the engine sees it. */
    const details = { inDoubt: true, retryable: true, unreachable: true };
    this.failure = new modules.LockStoreError('no answer', details);
  }

  nextOwner() {
    return `${this.id}:${++this.owners}`;
  }
  leaseLeft() {
    return undefined;
  }
  acquire({ owner, limit, permits, lease, tokens }) {
    const answer = new this.modules.Deferred();
    const ticket = this.tickets.byOwner.get(owner);
    const { askedFor: caller, sentAt } = ticket;
    this.requests.push({
      kind: 'acquire',
      owner,
      limit,
      permits,
      lease,
      tokens,
      ticket,
      caller,
      sentAt,
      answer,
    });
    return answer;
  }
  remove(request) {
    const reply = new Reply();
    this.requests.push({ ...request, reply });
    this.recent.add(
      { inDoubt: false, key: KEY, wasGranted: request.kind === 'release', ...request },
      this.world.now,
    );
    return reply;
  }
  /** At another server, which may have lost them. */
  repeatReleases() {
    for (const { owner, wasGranted, inDoubt } of this.recent.take()) {
      this.requests.push({ kind: wasGranted ? 'release' : 'cancel', owner, inDoubt, isRepeated: true });
    }
  }
  knows(owner) {
    return this.tickets.byOwner.has(owner) || this.requests.some((each) => each.owner === owner);
  }
  setTimer(timer, time) {
    const isTicket = timer !== this.line;
    if (isTicket) this.pauses.set(timer, timer.state);
    else this.wakesAt = time;
    timer.heapIndex = 0;
    timer.dueAt = time;
  }
  clearTimer(timer) {
    if (timer === this.line) this.wakesAt = undefined;
    else this.pauses.delete(timer);
    timer.heapIndex = -1;
  }
  hold(ticket, grant, startedAt, lease, leaseTime, unclaimed) {
    const { Turn } = this.modules;
    const { token, turnFrom = startedAt, tokens = 1, othersWait = false } = grant;
    const handOvers = ticket.isForReaders ? Infinity : MAX_HAND_OVERS;
    ticket.granted(grant, { startedAt, began: startedAt, deadline: startedAt + lease, unclaimed, leaseTime });
    ticket.madeTurn = new Turn(token + 1, tokens - 1, othersWait, turnFrom, startedAt, { handOvers });
    ticket.grantedToken = token;
    /** Hand-overs since the store last said that nobody else waits. */
    ticket.passed = 0;
  }
  started(caller, ticket, token) {
    if (ticket.turn.othersWait && token !== ticket.grantedToken) ticket.passed += 1;
    if (!ticket.turn.othersWait) ticket.passed = 0;
    this.holds.push({ caller, ticket, token });
    this.world.started(this, caller, ticket, token);
  }
  end(ticket, state) {
    ticket.state = state;
    this.tickets.byOwner.delete(ticket.owner);
  }
  release(ticket) {
    this.end(ticket, 'gone');
    const reply = this.remove({ kind: 'release', owner: ticket.owner });
    this.line.onTicketEnded(ticket);
    return reply;
  }
  lose(ticket) {
    if (ticket.state !== 'held') return;
    this.end(ticket, 'lost');
    this.holds = this.holds.filter((hold) => hold.ticket !== ticket);
    this.line.onTicketEnded(ticket);
  }

  endHold(hold) {
    const { ticket, caller } = hold;
    this.holds.splice(this.holds.indexOf(hold), 1);
    ticket.removeHolder(caller);
    if (ticket.users > 0 || this.line.onHoldEnded(ticket, false) !== undefined) return;
    if (ticket.state === 'held') this.release(ticket);
  }
}

/**
 * One run: the state after a sequence of events. `rules` limits what may happen, so that the number of states is finite.
 */
export class World {
  now = 0;
  callers = 0;
  violations = [];
  /** Whether the events have been checked before. */
  isReplay = false;
  lastToken = 0;
  usedTokens = new Set();
  hasCrashed = false;
  /** What the replica lacks, if that is the last write, and how to go back to what it has. */
  replica = undefined;

  /**
   * @param modules the built `Line`, `Turn` and what they need
   * @param rules `processes`, `kinds` of callers, and how many `callers`, `leaves`, `losses`, `polls`, `failovers`,
   *   `crashes` and `steps` of time
   * @param store empty: the model, or a `RedisStore`
   */
  constructor(modules, rules, store = new StoreModel()) {
    this.store = store;
    this.rules = { ...rules };
    /** Whether messages may be lost, so that callers of a process may be served in another order. */
    this.wasLossy = rules.losses > 0 || rules.expiries > 0;
    this.processes = Array.from(
      { length: rules.processes },
      (_, index) => new Process(this, 'ABC'[index], modules),
    );
  }

  violation(text) {
    this.violations.push(text);
  }

  started(process, caller, ticket, token) {
    const running = this.processes.flatMap(({ holds }) => holds);
    const limits = new Set(running.map(({ caller: { limit } }) => limit));
    if (limits.size > 1) this.violation('an exclusive hold beside others');
    const permits = running.reduce((sum, { caller }) => sum + caller.permits, 0);
    if (permits > caller.limit)
      this.violation(`${permits} permits are held, and the limit is ${caller.limit}`);
    this.checkPermits(process, caller, ticket);
    if (this.usedTokens.has(token)) this.violation(`the token ${token} was used before`);
    this.usedTokens.add(token);
    if (caller.limit === 1 && token <= this.lastToken)
      this.violation(`the token ${token} after ${this.lastToken}`);
    this.lastToken = Math.max(this.lastToken, token);
    if (ticket.passed > MAX_HAND_OVERS && !caller.fair && caller.limit !== Infinity) {
      this.violation(`${ticket.passed} hand-overs while another process waits`);
    }
    if (caller.fair) this.checkOrder(process, caller);
  }

  /** B58: a lease has the permits of its caller, and one who needs more permits and came first is not overtaken. */
  checkPermits(process, caller, held) {
    if (held.permits !== caller.permits)
      this.violation(`caller ${caller.id} of ${caller.permits} permits started with ${held.permits}`);
    if (this.wasLossy) return;
    for (const each of process.line.waiting) {
      if (each.id > caller.id || each.permits <= caller.permits) continue;
      // The message about its grant may still be on its way.
      const ticket = process.line.ticketOf(each);
      if (!this.store.holders.some(({ owner }) => owner === ticket?.owner))
        this.violation(`caller ${each.id} was overtaken by caller ${caller.id}, which needs fewer permits`);
    }
  }

  /** Who was queued before a granted owner has been granted the lock, too. */
  checkQueue(queue, holders, { reply, messages }, { kind, owner }) {
    const granted = messages.filter((message) => message.kind === 'granted').map((message) => message.owner);
    if (kind === 'acquire' && reply.outcome === 'granted' && !holders.includes(owner)) granted.push(owner);
    for (const each of granted) {
      const place = queue.includes(each) ? queue.indexOf(each) : queue.length;
      // One that the server can't reach keeps its position.
      const overtaken = this.store.queue.find(
        (waiter) => queue.slice(0, place).includes(waiter.owner) && waiter.heard !== 'not',
      );
      if (overtaken !== undefined) this.violation(`${overtaken.owner} was overtaken by ${each} in the store`);
    }
  }

  /** P26: no caller of another process has waited in the store for strict order since before this caller joined. */
  checkOrder(process, caller) {
    for (const other of this.processes) {
      if (other === process) continue;
      for (const waiting of other.line.waiting) {
        const ticket = other.line.ticketOf(waiting);
        const isQueued = ticket !== undefined && this.store.queue.some(({ owner }) => owner === ticket.owner);
        if (waiting.fair && isQueued && caller.id > ticket.queuedAt) {
          this.violation(`caller ${caller.id} overtook caller ${waiting.id} in strict order`);
        }
      }
    }
  }

  /** Everything that may happen next, in words that {@link World.apply} understands. */
  get events() {
    const { rules } = this;
    const events = rules.failovers > 0 ? ['the server fails over'] : [];
    if (rules.crashes > 0 && this.replica !== undefined) events.push('the server crashes');
    if (this.ghost !== undefined) events.push('a claim lease ends');
    for (const process of this.processes) {
      const { id, requests, answers, pushes, holds, pauses, line } = process;
      if (requests.length > 0) events.push(`${id} reaches the store`);
      if (answers.length > 0) events.push(`${id} gets an answer`);
      if (pushes.length > 0) events.push(`${id} gets a push`);
      holds.forEach((_, index) => events.push(`${id} ends hold ${index}`));
      if (rules.callers > 0) for (const kind of rules.kinds) events.push(`${id} calls ${kind}`);
      if (rules.leaves > 0) {
        [...line.waiting].forEach((_, index) => events.push(`${id} leaves ${index}`));
      }
      if (rules.losses > 0 && requests.some(({ kind }) => kind === 'acquire')) {
        events.push(`${id} loses a request`, `${id} loses an answer`);
      }
      if (rules.losses > 0 && pushes.length > 0) events.push(`${id} loses a push`);
      if (rules.expiries > 0) line.held.forEach((_, index) => events.push(`${id} loses lease ${index}`));
      if (rules.polls > 0) {
        [...pauses.values()].forEach((_, index) => events.push(`${id} polls ${index}`));
      }
      if (process.wakesAt !== undefined && rules.steps > 0) events.push(`${id} wakes`);
      if (this.store.relayed.has(id)) events.push(`${id} listens again`);
    }
    return events;
  }

  apply(event) {
    if (event === 'the server fails over') this.failOver();
    else if (event === 'the server crashes') this.crash();
    else if (event === 'a claim lease ends') this.endLease(this.ghost);
    else this.applyTo(event);
    this.check();
  }

  applyTo(event) {
    const [id, verb, ...rest] = event.split(' ');
    const process = this.processes.find((each) => each.id === id);
    const index = Number(rest.at(-1));
    const { rules } = this;
    if (verb === 'reaches') this.deliver(process, process.requests.shift());
    else if (verb === 'gets' && rest.at(-1) === 'answer') process.answers.shift().run();
    else if (verb === 'gets') this.push(process, process.pushes.shift());
    else if (verb === 'ends') process.endHold(process.holds[index]);
    else if (verb === 'calls') {
      rules.callers -= 1;
      // Later calls come later.
      this.now += 0.01;
      process.line.join(new Caller(process, ++this.callers, rest[0]));
    } else if (verb === 'leaves') {
      rules.leaves -= 1;
      const caller = [...process.line.waiting][index];
      caller.prolonged = true;
      process.line.leave(caller, 'timeout');
    } else if (event.endsWith('a push')) {
      rules.losses -= 1;
      process.pushes.shift();
    } else if (verb === 'loses' && rest[0] === 'lease') this.expire(process, process.line.held[index]);
    else if (verb === 'loses') {
      rules.losses -= 1;
      const place = process.requests.findIndex(({ kind }) => kind === 'acquire');
      const [request] = process.requests.splice(place, 1);
      if (rest.at(-1) === 'answer') this.pushAll(this.store.acquire(request).messages);
      this.answer(process, request, 'failure', () => request.answer.reject(process.failure));
    } else if (verb === 'polls') {
      rules.polls -= 1;
      const ticket = [...process.pauses.keys()][index];
      process.clearTimer(ticket);
      ticket.fire();
    } else if (verb === 'wakes') {
      rules.steps -= 1;
      this.now = Math.max(this.now + STEP, process.wakesAt);
      process.clearTimer(process.line);
      process.line.fire();
    } else if (verb === 'listens') {
      this.store.relayed.delete(id);
      // The rest of what the replica had published.
      process.pushes = [];
    }
  }

  /** As planned: nothing is lost, and all requests go to the new primary. What listens stays at the former one, now a replica. */
  failOver() {
    this.rules.failovers -= 1;
    const { relayed } = this.store;
    for (const { id } of this.processes) {
      if (!relayed.delete(id)) relayed.add(id);
    }
  }

  /**
   * Its last write was a release, which the replica did not get. What was published reaches the waiters all the same. All processes
   * repeat their releases at the replica, which is the primary now.
   */
  crash() {
    this.rules.crashes -= 1;
    this.hasCrashed = true;
    this.replica.restore();
    this.replica = undefined;
    for (const process of this.processes) process.repeatReleases();
  }

  /** The holder that a repeated release has granted the lock from a queue position of the past: it is released already. */
  get ghost() {
    if (!this.hasCrashed) return undefined;
    return this.store.holders.find(({ owner, isUnclaimed }) => {
      return isUnclaimed && !this.processes.some((process) => process.knows(owner));
    });
  }

  check() {
    if (this.isReplay) return;
    for (const { id, line } of this.processes) {
      for (const text of violationsOf(line)) this.violation(`${id}: ${text}`);
    }
  }

  /** The end of a lease comes. The process knows first, as its deadline is earlier; waiters find out when they ask again. */
  expire(process, ticket) {
    this.rules.expiries -= 1;
    process.lose(ticket);
    this.endLease(ticket);
  }

  endLease({ owner }) {
    const { store } = this;
    store.renew({ owner, lease: 1, exactly: true });
    store.now += 2;
    store.look();
  }

  deliver(process, request) {
    const [queue, holders] = [this.store.queue, this.store.holders].map((all) =>
      all.map(({ owner }) => owner),
    );
    const isRelease = request.kind === 'release' || request.kind === 'cancel';
    if (this.rules.crashes > 0)
      this.replica = isRelease ? { restore: this.store.snapshot(), lacks: request } : undefined;
    const { reply, messages } = this.store[request.kind](request);
    this.checkQueue(queue, holders, { reply, messages }, request);
    this.pushAll(messages);
    if (request.isRepeated) return;
    if (request.kind === 'acquire') {
      if (reply.outcome === 'queued') request.ticket.queuedAt ??= this.callers;
      const text = `${reply.outcome}${reply.tokens}${reply.othersWait}`;
      this.answer(process, request, text, () => request.answer.resolve(reply));
    } else if (request.kind === 'reserve') {
      const { ticket, tokens, sentAt, done } = request;
      this.answer(process, request, `${reply.outcome}${reply.othersWait}`, () => {
        if (reply.outcome === 'reserved') ticket.turn.reserved(reply.token, tokens, reply.othersWait, sentAt);
        else ticket.turn.reservationFailed();
        if (reply.outcome === 'reserved' && !reply.othersWait) ticket.passed = 0;
        done();
      });
    } else this.answer(process, request, 'done', () => request.reply.arrive());
  }

  answer(process, { kind, owner, caller, sentAt }, text, run) {
    process.answers.push({ kind, owner, caller, sentAt, text, run });
  }

  pushAll(messages) {
    for (const message of messages) {
      const process = this.processes.find(({ id }) => id === processOf(message.owner));
      process.pushes.push({ ...message, startedAt: this.now });
    }
  }

  push(process, { owner, ...grant }) {
    const ticket = process.tickets.byOwner.get(owner);
    if (ticket !== undefined) process.line.onPushed(ticket, grant);
  }

  /** Lets everything come to its end; nobody may be forgotten, and nothing be left behind. */
  drain() {
    const { rules } = this;
    rules.callers = rules.leaves = rules.losses = rules.expiries = rules.failovers = 0;
    rules.crashes = 0;
    rules.polls = rules.steps = Infinity;
    let lates = 0;
    for (let step = 0; step < 500; step++) {
      const late = this.events;
      // What is on its way first; then time passes, for one after the other.
      const events = late.filter((event) => !/ (polls|wakes)/.test(event));
      // Counted by itself: what follows from a poll may take as many steps each time.
      const event = events[0] ?? late[lates++ % late.length];
      if (event === undefined || this.violations.length > 0) break;
      this.apply(event);
    }
    for (const { id, line, tickets, holds } of this.processes) {
      if (line.waiting.size > 0) this.violation(`${id} has forgotten ${line.waiting.size} callers`);
      if (holds.length > 0) this.violation(`${id} has holds that can't end`);
      if (line.isUsed || line.leaving.size > 0 || tickets.byOwner.size > 0)
        this.violation(`${id} is not empty at the end`);
    }
    if (this.store.holders.length + this.store.queue.length > 0)
      this.violation('the store is not empty at the end');
  }

  /** Equal for states from which the same can follow. Owner ids, caller ids and tokens are renamed in order of appearance. */
  get fingerprint() {
    const names = new Map();
    const name = (value) => {
      if (!names.has(value)) names.set(value, names.size);
      return names.get(value);
    };
    const ofCaller = (caller) =>
      caller === undefined ? '-' : `${caller.kind}${name(caller)}@${caller.joinedAt}`;
    const ofTurn = ({ madeTurn: turn }) =>
      turn === undefined
        ? ''
        : [
            turn.handOvers,
            turn.tokensLeft,
            turn.othersWait,
            turn.countedFrom,
            turn.firstUntil,
            turn.reservation,
            turn.handOversWhenSent,
          ].join(',');
    const ofHeld = (ticket) =>
      `${name(ticket.owner)}/${ticket.users}${ticket.isIdle ? 'i' : ''}${ticket.state}${ticket.passed}[${ofTurn(ticket)}]`;
    const ofWaiting = (ticket) =>
      `${name(ticket.owner)}${ticket.state}${ofCaller(ticket.caller)}${ticket.askedLease},${ticket.isAnswered},${ticket.isContended},${ticket.inDoubt},${ticket.isWoken},${ticket.wasBroken},${ticket.failures},${ticket.shortestInDoubt}${ticket.pushed === undefined ? '' : '!'}`;
    const parts = [this.now, JSON.stringify(this.rules, (_, value) => (value === Infinity ? 'x' : value))];
    for (const each of this.processes) {
      const { line, tickets, requests, answers, pushes, holds, pauses, wakesAt } = each;
      parts.push(
        [...line.waiting].map(ofCaller).join(' '),
        line.held.map(ofHeld).join(' '),
        [...tickets.byOwner.values()]
          .filter(({ state }) => state !== 'held')
          .map(ofWaiting)
          .join(' '),
        line.wanted.length,
        [
          line.isTold,
          line.toldAt,
          line.failure !== undefined,
          line.leaving.size,
          line.enoughUntil,
          wakesAt,
        ].join(),
        requests
          .map(
            ({ kind, owner, tokens, caller, isRepeated }) =>
              `${kind}${name(owner)}${tokens}${ofCaller(caller)}${isRepeated ? 'again' : ''}`,
          )
          .join(' '),
        answers
          .map(({ kind, owner, caller, text }) => `${kind}${name(owner)}${ofCaller(caller)}${text}`)
          .join(' '),
        pushes.map(({ owner, tokens, othersWait }) => `${name(owner)}${tokens}${othersWait}`).join(' '),
        holds.map(({ caller, ticket }) => `${ofCaller(caller)}on${name(ticket.owner)}`).join(' '),
        [...pauses].map(([ticket, state]) => `${state}${name(ticket.owner)}`).join(' '),
      );
    }
    const { rules } = this;
    const { holders, queue, tombstones, relayed } = this.store;
    parts.push(
      [...relayed].sort().join(''),
      [
        this.hasCrashed,
        this.replica && this.replica.lacks.kind + name(this.replica.lacks.owner),
        ...(rules.crashes > 0
          ? this.processes.flatMap(({ recent: { earlier, latest } }) => [...earlier, ...latest])
          : []
        ).map(({ kind, owner }) => kind + name(owner)),
      ].join(),
      holders.map(({ owner, limit, permits }) => `${name(owner)}${limit}/${permits}`).join(' '),
      queue
        .map(
          ({ owner, limit, permits, tokens, heard }) => `${name(owner)}${limit}/${permits} ${tokens}${heard}`,
        )
        .join(' '),
      [...tombstones.keys()]
        .filter((owner) => names.has(owner))
        .map(name)
        .join(' '),
    );
    return parts.join('|');
  }
}
