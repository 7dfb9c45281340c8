// Two or three processes with the real session of an ordered queue, on a model of the store below its driver. Requests,
// answers and events of watches are delivered when the explorer says so, and time passes when it says so.

import { OrderedProcess } from './ordered-process.mjs';
import { LEASE } from './process.mjs';
import { enter, TimedWorld } from './world-time.mjs';

/** The session of a process ends this long after the store last heard from it, ms. */
const SESSION = LEASE;

export class OrderedWorld extends TimedWorld {
  /** Of the queue: oldest first. */
  entries = [];
  revision = 1_000_000_000;
  /** Whether waiters are woken at once: not if the request that follows an event fails. */
  isPrompt = true;

  /**
   * @param modules the built `openOrdered`, `LockQueue`, `LockStoreError` and `deadlineOf`
   * @param rules see `TimedWorld`, and
   *   - `rates` of the clocks of the processes (1 if left out)
   *   - `decides`: as in etcd, one request grants a free lock, and reads are fresh; otherwise the store only keeps the queue
   *   - `contended`: requests say that the lock is held; `timed`: leases are not renewed by themselves
   *   - `claimLeases`: of the requests of an owner, one after the other; `extendsAtOnce`: pushed grants are extended
   *   - how many `cuts` of a connection, `ends` of a session meanwhile, `deletions` by an operator, `breaks` by another
   *     process, `overtakes` of requests, and `doubts`: requests that fail although they were carried out
   */
  constructor(modules, rules) {
    super(modules, rules);
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

  get places() {
    const deletes = { can: this.entries.length > 0, costs: 'deletions', act: () => this.deleteFirst() };
    return [...super.places, ['somebody', () => ({ 'deletes the first entry': deletes })]];
  }

  actionsOf(process) {
    const { state, isCut, requests, answers, reports, late } = process;
    const isSilent = this.now > process.lastContact + SESSION;
    const deliver = (index) => {
      process.deliver(index);
      if (this.rules.prompt) process.answer();
    };
    const leaveInDoubt = () => {
      this.isPrompt = false;
      process.leaveInDoubt();
    };
    return {
      'request arrives': { can: requests.length > 0, act: () => deliver(0) },
      'second request arrives': { can: requests.length > 1, costs: 'overtakes', act: () => deliver(1) },
      'request ends in doubt': { can: requests.length > 0, costs: 'doubts', act: leaveInDoubt },
      'answer arrives': { can: answers.length > 0, act: () => process.answer() },
      'event arrives': { can: reports.length > 0, act: () => process.report() },
      'late write arrives': { can: late.length > 0, act: () => void this.execute(process, late.shift()) },
      breaks: { can: state === 'idle' && !isCut, costs: 'breaks', act: () => this.break(process) },
      'is cut off': { can: !isCut, costs: 'cuts', act: () => process.cut() },
      'is connected': { can: isCut, act: () => process.connect() },
      'session ends': {
        can: isCut && !process.isOver && isSilent,
        costs: 'ends',
        act: () => this.endSession(process),
      },
      ...super.actionsOf(process),
    };
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

  deleteFirst() {
    this.isPromised = false;
    this.remove(this.entries[0].path);
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

  /** Delivers all messages and ends all holds. Then no caller may still wait, and the store must be empty. */
  async drain() {
    enter(this);
    const wasCut = this.processes.some(({ isCut }) => isCut);
    this.allowNothingNew();
    for (const { id, isCut } of this.processes) if (isCut) await this.apply(`${id} is connected`);
    await this.comeToEnd(8, (round) => {
      const all = this.events.filter((each) => !each.endsWith('retries'));
      const messages = all.filter((each) => !each.endsWith('releases'));
      if (messages.length === 0 && round === 0 && !wasCut && this.isPrompt) this.checkWokenUp();
      return messages.length > 0 ? messages : all;
    });
    for (const { id, state, leftovers } of this.processes) {
      if (state === 'idle' && leftovers.length > 0) this.violation(`${id} has left: ${leftovers.join(', ')}`);
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

  /** Equal for states with the same continuations. Pending promises count only by their messages. */
  get fingerprint() {
    const { ago } = this;
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
