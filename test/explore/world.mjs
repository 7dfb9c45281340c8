// Two or three processes with the real machine of one key each, and a model of a store: every message between them is
// delivered when the explorer says so. Deterministic: the same events lead to the same state.

import { violationsOf } from './invariants.mjs';
import { processOf, StoreModel } from './store-model.mjs';

/** Hand-overs in a row while others may wait: few, so that short runs reach the bound. */
export const MAX_HAND_OVERS = 2;
const LEASE = 30_000;
/** By how much time moves when it does: longer than a turn of a process (50 ms). */
const STEP = 60;

const LIMITS = { exclusive: 1, fair: 1, timed: 1, reader: Infinity, permit: 2, pair: 2, third: 3, most: 3 };
/** Of kinds that take several permits. */
const PERMITS = { pair: 2, most: 2 };

class Caller {
  previous = undefined;
  next = undefined;
  prolonged = false;
  lateAfter = undefined;
  lateGrants = 0;
  isSettled = false;
  outcome = undefined;
  partOf = undefined;
  holdAtLeast = 0;

  constructor(id, kind, now) {
    this.id = id;
    this.kind = kind;
    this.limit = LIMITS[kind];
    this.permits = PERMITS[kind] ?? 1;
    this.fair = kind === 'fair';
    this.leaseTime = kind === 'timed' ? 1_000 : undefined;
    this.lease = this.leaseTime ?? LEASE;
    this.needsOwnLease = this.fair || this.leaseTime !== undefined;
    this.startedAt = this.joinedAt = now;
    this.isOverdueNow = false;
  }

  isOverdue() {
    return this.isOverdueNow;
  }
  prolong() {
    this.prolonged = true;
  }
}

class Lease {
  state = 'held';
  users = 0;
  isParked = false;
  keptUntil = undefined;
  /** Hand-overs since the store last said that nobody else waits. */
  passed = 0;

  constructor(owner, caller, grant, budget) {
    this.owner = owner;
    this.limit = caller.limit;
    this.permits = caller.permits;
    this.isForReaders = caller.limit === Infinity;
    this.isTransferable = caller.leaseTime === undefined;
    this.budget = budget;
    this.token = grant.token;
  }
}

/** One process: the effects of its machine. */
class Process {
  leases = {
    isGood: ({ state }) => state === 'held',
    isSure: ({ state }) => state === 'held',
    deadlineOf: (startedAt, lease) => startedAt + lease,
    mayBeOver: () => false,
  };
  canReserve = true;
  isClosing = false;
  isCutOff = false;
  owners = 0;
  /** Requests on their way to the store, in order. */
  requests = [];
  /** Answers on their way back, in order; and pushed grants, which travel on a connection of their own. */
  answers = [];
  pushes = [];
  holds = [];
  entries = new Map();
  timers = new Map();
  wakesAt = undefined;

  constructor(world, id, modules) {
    this.world = world;
    this.id = id;
    this.modules = modules;
    this.machine = new modules.KeyMachine(this);
    this.recent = new modules.RecentReleases();
  }

  nextOwner() {
    return `${this.id}:${++this.owners}`;
  }
  onOpened(entry) {
    this.entries.set(entry.owner, entry);
  }
  onClosed(entry) {
    this.entries.delete(entry.owner);
  }
  acquire(entry, caller) {
    const { machine, world } = this;
    const tokens = machine.tokensWith(caller, entry.isContended);
    const { owner } = entry;
    const { limit, permits, lease } = caller;
    const request = { kind: 'acquire', owner, limit, permits, lease, tokens, entry, caller };
    this.requests.push({ ...request, sentAt: world.now });
    return world.now;
  }
  cancel({ owner, inDoubt, isAsking }) {
    this.remove({ kind: 'cancel', owner, inDoubt: inDoubt || isAsking });
  }
  release(lease) {
    lease.state = 'released';
    this.remove({ kind: 'release', owner: lease.owner });
  }
  remove(request) {
    this.requests.push(request);
    this.recent.add(request, this.world.now);
  }
  /** At another server, which may have lost them. */
  repeatReleases() {
    for (const request of this.recent.all()) this.requests.push({ ...request, isRepeated: true });
  }
  knows(owner) {
    const isOf = (each) => each.owner === owner;
    return this.entries.has(owner) || this.requests.some(isOf) || this.machine.leases.some(isOf);
  }
  reserve(lease, budget, tokens) {
    this.requests.push({
      kind: 'reserve',
      owner: lease.owner,
      tokens,
      held: lease,
      budget,
      sentAt: this.world.now,
    });
  }
  poll(entry) {
    this.timers.set(entry, 'poll');
  }
  retry(entry) {
    this.timers.set(entry, 'retry');
  }
  clearTimer(entry) {
    this.timers.delete(entry);
  }
  wakeAt(time) {
    if (this.wakesAt === undefined || this.wakesAt > time) this.wakesAt = time;
  }
  clearWake() {
    this.wakesAt = undefined;
  }
  open(entry, caller, grant) {
    const { HandOverBudget } = this.modules;
    const { token, startedAt, turnFrom = startedAt, tokens = 1, othersWait = false } = grant;
    const max = caller.limit === Infinity ? Infinity : MAX_HAND_OVERS;
    const budget = new HandOverBudget(token + 1, tokens - 1, othersWait, turnFrom, startedAt, max);
    return new Lease(entry.owner, caller, grant, budget);
  }
  start(caller, lease, token, from, superseded) {
    const { world } = this;
    if (caller.isSettled) world.violation(`caller ${caller.id} started after its outcome was there`);
    caller.isSettled = true;
    caller.outcome = 'started';
    lease.users += 1;
    lease.isParked = false;
    if (lease.budget.areOthersWaiting && token !== lease.token) lease.passed += 1;
    if (!lease.budget.areOthersWaiting) lease.passed = 0;
    for (const each of superseded) this.lose(each);
    this.holds.push({ caller, lease, token });
    world.started(this, caller, lease, token);
  }
  explain(_, why) {
    return why.because;
  }
  refuse(caller, error) {
    if (caller.isSettled) this.world.violation(`caller ${caller.id} refused after its outcome was there`);
    caller.isSettled = true;
    caller.outcome = error;
  }
  reportQueued() {}
  reportFailure() {}
  afterwards(event) {
    event();
  }
  onUnused() {}

  lose(lease) {
    if (lease.state !== 'held') return;
    lease.state = 'lost';
    this.holds = this.holds.filter((hold) => hold.lease !== lease);
  }

  endHold(hold) {
    const { lease } = hold;
    const { now } = this.world;
    this.holds.splice(this.holds.indexOf(hold), 1);
    lease.users -= 1;
    if (lease.users > 0 || this.machine.onHoldEnded(lease, now)) return;
    if (lease.state !== 'held') return;
    this.release(lease);
    this.machine.queue.leaving.begin();
    this.machine.onLeaseEnded(lease, now);
  }
}

/** An in-doubt failure, as the engine sees it. */
const FAILURE = Object.assign(new Error('no answer'), { inDoubt: true, retryable: true, unreachable: true });

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
   * @param modules the built `KeyMachine` and `HandOverBudget`
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

  started(process, caller, lease, token) {
    const running = this.processes.flatMap(({ holds }) => holds);
    const limits = new Set(running.map(({ caller: { limit } }) => limit));
    if (limits.size > 1) this.violation('an exclusive hold beside others');
    const permits = running.reduce((sum, { caller }) => sum + caller.permits, 0);
    if (permits > caller.limit)
      this.violation(`${permits} permits are held, and the limit is ${caller.limit}`);
    this.checkPermits(process, caller, lease);
    if (this.usedTokens.has(token)) this.violation(`the token ${token} was used before`);
    this.usedTokens.add(token);
    if (caller.limit === 1 && token <= this.lastToken)
      this.violation(`the token ${token} after ${this.lastToken}`);
    this.lastToken = Math.max(this.lastToken, token);
    if (lease.passed > MAX_HAND_OVERS && !caller.fair && caller.limit !== Infinity) {
      this.violation(`${lease.passed} hand-overs while another process waits`);
    }
    if (caller.fair) this.checkOrder(process, caller);
  }

  /** B58: a lease has the permits of its caller, and one who needs more permits and came first is not overtaken. */
  checkPermits(process, caller, lease) {
    if (lease.permits !== caller.permits)
      this.violation(`caller ${caller.id} of ${caller.permits} permits started with ${lease.permits}`);
    if (this.wasLossy) return;
    for (const each of process.machine.waiting) {
      if (each.id > caller.id || each.permits <= caller.permits) continue;
      // The message about its grant may still be on its way.
      const entry = process.machine.queue.of(each);
      if (!this.store.holders.some(({ owner }) => owner === entry?.owner))
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
      for (const waiting of other.machine.waiting) {
        const entry = other.machine.queue.of(waiting);
        const isQueued = entry !== undefined && this.store.queue.some(({ owner }) => owner === entry.owner);
        if (waiting.fair && isQueued && caller.id > entry.queuedAt) {
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
      const { id, requests, answers, pushes, holds, timers, machine } = process;
      if (requests.length > 0) events.push(`${id} reaches the store`);
      if (answers.length > 0) events.push(`${id} gets an answer`);
      if (pushes.length > 0) events.push(`${id} gets a push`);
      holds.forEach((_, index) => events.push(`${id} ends hold ${index}`));
      if (rules.callers > 0) for (const kind of rules.kinds) events.push(`${id} calls ${kind}`);
      if (rules.leaves > 0) {
        [...machine.waiting].forEach((_, index) => events.push(`${id} leaves ${index}`));
      }
      if (rules.losses > 0 && requests.some(({ kind }) => kind === 'acquire')) {
        events.push(`${id} loses a request`, `${id} loses an answer`);
      }
      if (rules.losses > 0 && pushes.length > 0) events.push(`${id} loses a push`);
      if (rules.expiries > 0) machine.leases.forEach((_, index) => events.push(`${id} loses lease ${index}`));
      if (rules.polls > 0) {
        [...timers.values()].forEach((_, index) => events.push(`${id} polls ${index}`));
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
      const caller = new Caller(++this.callers, rest[0], this.now);
      process.machine.join(caller, this.now);
    } else if (verb === 'leaves') {
      rules.leaves -= 1;
      const caller = [...process.machine.waiting][index];
      caller.prolonged = true;
      process.machine.leave(caller, 'timeout', this.now);
    } else if (event.endsWith('a push')) {
      rules.losses -= 1;
      process.pushes.shift();
    } else if (verb === 'loses' && rest[0] === 'lease') this.expire(process, process.machine.leases[index]);
    else if (verb === 'loses') {
      rules.losses -= 1;
      const place = process.requests.findIndex(({ kind }) => kind === 'acquire');
      const [request] = process.requests.splice(place, 1);
      if (rest.at(-1) === 'answer') this.pushAll(this.store.acquire(request).messages);
      this.answer(process, request, 'failure', () => {
        process.machine.queue.onFailed(request.entry, FAILURE, this.now);
      });
    } else if (verb === 'polls') {
      rules.polls -= 1;
      const entry = [...process.timers.keys()][index];
      process.timers.delete(entry);
      process.machine.queue.onDue(entry, this.now);
    } else if (verb === 'wakes') {
      rules.steps -= 1;
      this.now = Math.max(this.now + STEP, process.wakesAt);
      process.wakesAt = undefined;
      process.machine.fire(this.now);
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
    for (const { id, machine } of this.processes) {
      for (const text of violationsOf(machine)) this.violation(`${id}: ${text}`);
    }
  }

  /** The end of a lease comes. The process knows first, as its deadline is earlier; waiters find out when they ask again. */
  expire(process, lease) {
    this.rules.expiries -= 1;
    process.lose(lease);
    process.machine.onLeaseEnded(lease, this.now);
    this.endLease(lease);
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
    const { machine } = process;
    if (request.kind === 'acquire') {
      const { entry } = request;
      if (reply.outcome === 'queued') entry.queuedAt ??= this.callers;
      const text = `${reply.outcome}${reply.tokens}${reply.othersWait}`;
      this.answer(process, request, text, () => {
        machine.queue.onReplied(entry, reply, this.now);
      });
    } else if (request.kind === 'reserve') {
      const { held: lease, budget, tokens, sentAt } = request;
      this.answer(process, request, `${reply.outcome}${reply.othersWait}`, () => {
        if (reply.outcome === 'reserved') budget.reserved(reply.token, tokens, reply.othersWait, sentAt);
        else budget.reservationFailed();
        if (reply.outcome === 'reserved' && !reply.othersWait) lease.passed = 0;
        machine.onReserved(lease, this.now);
      });
    } else this.answer(process, request, 'done', () => machine.queue.leaving.end());
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
    const entry = process.entries.get(owner);
    if (entry !== undefined) process.machine.queue.onPushed(entry, grant, this.now);
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
    for (const { id, machine, holds } of this.processes) {
      if (machine.waiting.size > 0) this.violation(`${id} has forgotten ${machine.waiting.size} callers`);
      if (holds.length > 0) this.violation(`${id} has holds that can't end`);
      if (!machine.queue.isEmpty || machine.leases.length > 0)
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
    const ofBudget = ({ budget }) =>
      budget === undefined
        ? ''
        : [
            budget.handOvers,
            budget.tokensLeft,
            budget.areOthersWaiting,
            budget.countedFrom,
            budget.settledAt,
            budget.isReserving,
            budget.hasFailed,
            budget.handOversWhenSent,
          ].join(',');
    const ofLease = (lease) =>
      `${name(lease.owner)}/${lease.users}${lease.isParked ? 'p' : ''}${lease.state}${lease.passed}[${ofBudget(lease)}]`;
    const ofEntry = (entry) =>
      `${name(entry.owner)}${entry.state}${ofCaller(entry.caller)}${entry.askedLease},${entry.isAnswered},${entry.isContended},${entry.inDoubt},${entry.isWoken},${entry.wasBroken},${entry.failures},${entry.shortestInDoubt}${entry.pushed === undefined ? '' : '!'}`;
    const parts = [this.now, JSON.stringify(this.rules, (_, value) => (value === Infinity ? 'x' : value))];
    for (const each of this.processes) {
      const { machine, requests, answers, pushes, holds, timers, wakesAt } = each;
      const { queue } = machine;
      parts.push(
        [...machine.waiting].map(ofCaller).join(' '),
        machine.leases.map(ofLease).join(' '),
        [...each.entries.values()].map(ofEntry).join(' '),
        queue.size,
        [
          queue.isTold,
          queue.toldAt,
          queue.failure !== undefined,
          queue.leaving.size,
          machine.enoughUntil,
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
        holds.map(({ caller, lease }) => `${ofCaller(caller)}on${name(lease.owner)}`).join(' '),
        [...timers].map(([entry, kind]) => `${kind}${name(entry.owner)}`).join(' '),
      );
    }
    const { rules } = this;
    const { holders, queue, tombstones, relayed } = this.store;
    parts.push(
      [...relayed].sort().join(''),
      [
        this.hasCrashed,
        this.replica && this.replica.lacks.kind + name(this.replica.lacks.owner),
        ...(rules.crashes > 0 ? this.processes.flatMap(({ recent }) => recent.all()) : []).map(
          ({ kind, owner }) => kind + name(owner),
        ),
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
