// Two or three processes with the real session of an ordered queue, on a model of the store below its driver. Requests,
// answers and events of watches are delivered when the explorer says so, and time passes when it says so. Deterministic: the
// same events lead to the same state.

import { OrderedProcess } from './ordered-process.mjs';
import { LEASE } from './process.mjs';
import { enter, settled } from './world-time.mjs';

/** How often a process asks again, ms. */
const POLL = 1_000;
/** While runs are brought to their end, no lease may do it: what is left behind has to show. */
const LONGEST_TIMER = 1_500;
/** The session of a process ends this long after the store last heard from it, ms. */
const SESSION = LEASE;
/** Some time, ms: three of them are more than half of the time in which a waiter has to ask again. */
const MOMENT = 500;

export class OrderedWorld {
  now = 1_000_000;
  timers = new Set();
  violations = [];
  lastToken = 0;
  /** Of the queue: oldest first. */
  entries = [];
  revision = 1_000_000_000;
  /** Whether the locks exclude each other: not after somebody has deleted the entry of a holder. */
  isPromised = true;
  /** Whether waiters are woken at once: not if the request that follows an event fails. */
  isPrompt = true;
  order = 0;

  /**
   * @param modules the built `OrderedSession`, `LockQueue`, `LockStoreError` and `deadlineOf`
   * @param rules
   *   - `limits` of the processes, the `permits` that each takes and the `rates` of their clocks (1 if left out)
   *   - `decides`: as in etcd, one request grants a free lock, and reads are fresh; otherwise the store only keeps the queue
   *   - `contended`: requests say that the lock is held; `timed`: leases are not renewed by themselves
   *   - `claimLeases`: of the requests of an owner, one after the other; `extendsAtOnce`: pushed grants are extended
   *   - how many `calls`, `tries` without a wait, `leaves`, `polls`, `renewals` and `reserves`
   *   - how many `steps` of time to the next timer, `moments`, and `leaps` to the end of a lease
   *   - how many `cuts` of a connection, `ends` of a session meanwhile, `deletions` by an operator, `breaks` by another
   *     process, `overtakes` of requests, and `doubts`: requests that fail although they were carried out
   *   - `prompt`: answers take no time
   */
  constructor(modules, rules) {
    enter(this);
    this.modules = modules;
    this.rules = { ...rules };
    this.processes = rules.limits.map((limit, index) => {
      const terms = {
        limit,
        permits: rules.permits?.[index] ?? 1,
        rate: rules.rates?.[index] ?? 1,
        isContended: rules.contended,
        isTimed: rules.timed,
        claimLeases: rules.claimLeases,
        extendsAtOnce: rules.extendsAtOnce,
      };
      return new OrderedProcess(this, 'ABC'[index], terms, modules);
    });
  }

  violation(text) {
    this.violations.push(text);
  }

  failure(inDoubt, unreachable = true) {
    return new this.modules.LockStoreError('no answer', { inDoubt, retryable: true, unreachable });
  }

  started({ limit, token }) {
    const running = this.processes.filter(({ isRelying }) => isRelying);
    const held = running.reduce((sum, { permits }) => sum + permits, 0);
    const isShared = running.every((each) => each.limit === limit);
    if (this.isPromised && (!isShared || held > limit)) this.violation('two holders at one time');
    if (limit === 1) this.gives(token, 1);
  }

  /** Tokens that a process may use from now on. */
  gives(token, count) {
    if (token <= this.lastToken) this.violation(`the token ${token} after ${this.lastToken}`);
    this.lastToken = token + count - 1;
  }

  // The store

  get snapshot() {
    return { entries: this.entries.map((entry) => ({ ...entry })), revision: this.revision };
  }

  execute(process, { kind, details: [first, second, waits, free] }) {
    const { watches } = process;
    if (kind === 'create') return this.create(first, second);
    if (kind === 'join') {
      const queue = new this.modules.LockQueue('key', this.entries, this.revision);
      const isHolder = queue.conflictWith(first.limit) === undefined && queue.hasRoom(first);
      if (!isHolder && !second) {
        return { path: undefined, isHolder, created: 0, queue: this.snapshot };
      }
      const created = this.create(first, isHolder ? free : waits);
      return { ...created, isHolder, queue: this.snapshot };
    }
    if (kind === 'write') return this.write(first);
    if (kind === 'remove') return this.remove(first, second);
    if (kind === 'read') {
      const stored = this.entryAt(first)?.stored;
      if (second && stored !== undefined) this.watch(watches, first, second);
      return stored && { ...stored };
    }
    if (first === true) this.watch(watches, 'key', 'end');
    return this.snapshot;
  }

  /** An event for each change serves both kinds of watches. */
  watch(watches, path, until) {
    if (watches.get(path) !== 'change') watches.set(path, until);
  }

  entryAt(path) {
    return this.entries.find((entry) => entry.path === path);
  }

  create(entry, data) {
    const created = (this.revision += 1);
    const path = `p${created}`;
    const stored = { data, created, modified: created, writes: 0 };
    this.entries.push({ ...entry, path, stored });
    return { path, created };
  }

  write(writes) {
    if (writes.some(({ path }) => this.entryAt(path) === undefined)) return undefined;
    const changed = writes.filter(({ data }) => data !== undefined);
    for (const { path, data } of changed) {
      const entry = this.entryAt(path);
      const { created, writes: before, isOfEarlier } = entry.stored;
      this.revision += 1;
      entry.stored = { data, created, modified: this.revision, writes: before + 1, isOfEarlier };
      this.changed(path, false);
    }
    return { revision: this.revision };
  }

  /** @param modified if given, only an entry that was not written since */
  remove(path, modified) {
    const entry = this.entryAt(path);
    if (entry === undefined || (modified !== undefined && entry.stored.modified !== modified)) return false;
    this.entries = this.entries.filter((each) => each !== entry);
    this.revision += 1;
    this.changed(path, true);
    return true;
  }

  changed(path, isGone) {
    for (const process of this.processes) {
      for (const name of isGone ? [path, 'key'] : [path]) {
        const until = process.watches.get(name);
        if (until === undefined || (until === 'end' && !isGone)) continue;
        process.watches.delete(name);
        process.reports.push({ path: name, isGone });
      }
    }
  }

  report(id, message) {
    const process = this.processes.find((each) => each.id === id);
    if (!process.isCut) process.reports.push(message);
  }

  // Events

  get events() {
    const { rules, timers, entries } = this;
    const events = this.processes.flatMap((process) => this.eventsOf(process));
    if (rules.deletions > 0 && entries.length > 0) events.push('somebody deletes the first entry');
    if (rules.steps > 0 && timers.size > 0) events.push('time passes');
    if (rules.moments > 0) events.push('a moment passes');
    if (rules.leaps > 0 && this.nextEnd < Infinity) events.push('a lease ends');
    return events;
  }

  eventsOf(process) {
    const { rules } = this;
    const { state, isWaiting, isCut, requests, answers, reports, late } = process;
    const isSilent = this.now > process.lastContact + SESSION;
    const possible = {
      'request arrives': requests.length > 0,
      'second request arrives': rules.overtakes > 0 && requests.length > 1,
      'request ends in doubt': rules.doubts > 0 && requests.length > 0,
      'answer arrives': answers.length > 0,
      'event arrives': reports.length > 0,
      'late write arrives': late.length > 0,
      calls: state === 'idle' && rules.calls > 0,
      tries: state === 'idle' && rules.tries > 0,
      breaks: state === 'idle' && rules.breaks > 0 && !isCut,
      releases: state === 'holds',
      leaves: isWaiting && rules.leaves > 0,
      polls: state === 'waits' && rules.polls > 0,
      renews: state === 'holds' && rules.renewals > 0,
      reserves: state === 'holds' && rules.reserves > 0,
      retries: process.retry !== undefined,
      'is cut off': !isCut && rules.cuts > 0,
      'is connected': isCut,
      'session ends': isCut && !process.isOver && rules.ends > 0 && isSilent,
    };
    return Object.keys(possible)
      .filter((each) => possible[each])
      .map((each) => `${process.id} ${each}`);
  }

  /** The next moment at which a process stops relying on its lease, or a session may end. */
  get nextEnd() {
    const deadlines = this.processes
      .filter(({ isRelying }) => isRelying)
      .map(({ deadline, rate }) => deadline / rate + 1);
    const cut = this.processes.filter(({ isCut }) => isCut && this.rules.ends > 0);
    const sessions = cut.map(({ lastContact }) => lastContact + SESSION + 1);
    return Math.min(...[...deadlines, ...sessions].filter((end) => end > this.now));
  }

  async apply(event) {
    enter(this);
    this.order = (this.order * 31 + event.length + event.charCodeAt(2)) % 1_009;
    const { rules } = this;
    if (event === 'time passes') {
      rules.steps -= 1;
      await this.moveTo(Math.min(...[...this.timers].map(({ dueAt }) => dueAt)));
    } else if (event === 'a moment passes') {
      rules.moments -= 1;
      await this.moveTo(this.now + MOMENT);
    } else if (event === 'a lease ends') {
      rules.leaps -= 1;
      await this.moveTo(this.nextEnd);
    } else if (event.startsWith('somebody')) {
      rules.deletions -= 1;
      this.isPromised = false;
      this.remove(this.entries[0].path);
    } else
      this.act(
        this.processes.find(({ id }) => event.startsWith(id)),
        event.slice(2),
      );
    await settled();
  }

  act(process, verb) {
    const { rules } = this;
    const used = {
      'second request arrives': 'overtakes',
      'request ends in doubt': 'doubts',
      calls: 'calls',
      tries: 'tries',
      breaks: 'breaks',
      leaves: 'leaves',
      polls: 'polls',
      renews: 'renewals',
      reserves: 'reserves',
      'is cut off': 'cuts',
      'session ends': 'ends',
    }[verb];
    if (used !== undefined) rules[used] -= 1;
    const deliver = (index) => {
      process.deliver(index);
      if (rules.prompt) process.answer();
    };
    const actions = {
      'request arrives': () => deliver(0),
      'second request arrives': () => deliver(1),
      'request ends in doubt': () => {
        this.isPrompt = false;
        process.leaveInDoubt();
      },
      'answer arrives': () => process.answer(),
      'event arrives': () => process.report(),
      'late write arrives': () => void this.execute(process, process.late.shift()),
      calls: () => process.call(),
      tries: () => process.try(),
      breaks: () => this.break(process),
      releases: () => process.end(),
      leaves: () => process.withdraw(),
      polls: () => process.ask(),
      renews: () => process.renew(),
      reserves: () => process.reserve(),
      retries: () => process.retry(),
      'is cut off': () => process.cut(),
      'is connected': () => process.connect(),
      'session ends': () => this.endSession(process),
    };
    actions[verb]();
  }

  /** The next hold may begin before the owner of the broken one gets the notice. */
  break({ session }) {
    this.isPromised = false;
    session.breakHold('key').catch(() => undefined);
  }

  endSession(process) {
    process.isOver = true;
    process.late = [];
    const isOwn = ({ owner }) => owner.startsWith(process.id);
    for (const { path } of this.entries.filter(isOwn)) this.remove(path);
  }

  async moveTo(time) {
    for (;;) {
      const due = [...this.timers]
        .filter(({ dueAt }) => dueAt <= time)
        .sort((one, next) => one.dueAt - next.dueAt);
      if (due.length === 0) break;
      this.timers.delete(due[0]);
      this.now = Math.max(this.now, due[0].dueAt);
      due[0].callback();
      await settled();
    }
    this.now = Math.max(this.now, time);
    for (const process of this.processes) if (process.state === 'holds' && !process.isRelying) process.end();
  }

  /** Delivers all messages and ends all holds. Then no caller may still wait, and the store must be empty. */
  async drain() {
    enter(this);
    const { rules } = this;
    const wasCut = this.processes.some(({ isCut }) => isCut);
    for (const name of Object.keys(rules)) if (typeof rules[name] === 'number') rules[name] = 0;
    for (const { id, isCut } of this.processes) if (isCut) await this.apply(`${id} is connected`);
    for (let round = 0; round < 8 && this.violations.length === 0; round += 1) {
      for (let step = 0; step < 300; step += 1) {
        const isRelease = (each) => each.endsWith('releases');
        const all = this.events.filter((each) => !each.endsWith('retries'));
        const messages = all.filter((each) => !isRelease(each));
        if (messages.length === 0 && round === 0 && !wasCut && this.isPrompt) this.checkWokenUp();
        const events = messages.length > 0 ? messages : all;
        if (events.length === 0) break;
        // Another order after each run, and the same one when it is replayed.
        await this.apply(events[(this.order + step) % events.length]);
      }
      if (this.processes.every(({ state }) => state === 'idle') && !this.isTimerDue(LONGEST_TIMER)) break;
      await this.moveTo(this.now + POLL);
      for (const process of this.processes) {
        if (process.state === 'waits') process.ask();
        else process.retry?.();
      }
      await settled();
    }
    for (const { id, state, leftovers } of this.processes) {
      if (state !== 'idle') this.violation(`${id} ${state} for ever`);
      else if (leftovers.length > 0) this.violation(`${id} has left: ${leftovers.join(', ')}`);
    }
    if (this.entries.length > 0) this.violation('the queue is not empty at the end');
  }

  /** Once all messages have arrived, each process whose entry holds the lock has its grant, without a poll. */
  checkWokenUp() {
    const { holders } = new this.modules.LockQueue('key', this.entries, this.revision);
    for (const { id, state, owner } of this.processes) {
      if (state === 'waits' && holders.some((entry) => entry.owner === owner))
        this.violation(`${id} holds the lock, but got no grant`);
    }
  }

  isTimerDue(within) {
    return [...this.timers].some(({ dueAt }) => dueAt <= this.now + within);
  }

  /** Equal for states with the same continuations. Pending promises count only by their messages. */
  get fingerprint() {
    const ago = (time) =>
      Math.abs(time) === Infinity || time === undefined ? 'x' : Math.round(time - this.now);
    const timers = [...this.timers].map(({ dueAt }) => ago(dueAt));
    const processes = this.processes.map((process) => process.fingerprint(ago));
    const { rules, entries, lastToken, isPromised } = this;
    const text = JSON.stringify([rules, processes, entries, timers, lastToken, isPromised]).replace(
      /"since":\d+/g,
      '',
    );
    // Of tokens and revisions the order counts.
    const numbers = [...new Set(text.match(/\d{10,}/g))].sort();
    return text.replace(/\d{10,}/g, (each) => `n${numbers.indexOf(each)}`);
  }
}
