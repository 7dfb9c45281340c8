// Two or three processes with the real quorum code on three members, each a model of a store. Every request, answer and push is
// delivered when the explorer says so, and time passes when it says so. Deterministic: the same events lead to the same state.

import { Member, QuorumProcess } from './quorum-process.mjs';
import { StoreModel, processOf } from './store-model.mjs';
import { enter, settled } from './world-time.mjs';

const MEMBERS = 3;
/** By how much the clock of one member is ahead, ms: less than any lease, or tokens may be smaller after one has ended. */
const SKEW = 1_000;
/** How often a process asks again, ms. */
const POLL = 1_000;
/** While runs are brought to their end, no lease may do it: what is left behind has to show. */
const LONGEST_TIMER = 1_500;

export class QuorumWorld {
  now = 1_000_000;
  timers = new Set();
  violations = [];
  lastToken = 0;
  /** Whether the locks still exclude each other: not after a member has lost a vote without which there is no majority. */
  isPromised = true;
  /** Whether tokens grow: a member that has lost its counter begins with its clock, which may be behind another one's. */
  doTokensGrow = true;
  order = 0;

  /**
   * @param modules the built `openQuorum`, `LockStoreError` and `deadlineOf`
   * @param rules `limits` of the processes and the `permits` that each takes (1 if left out), and how many `calls`, `tries` without a wait, `leaves`, `polls`, `renewals`, `reserves`,
   *   `steps` of time to the next timer, `leaps` to the end of a lease, `losses` of answers or pushes, `breaks` by an operator,
   *   `outages` of a member, and `lostData`: outages after which it comes back empty; `prompt` if answers take no time
   */
  constructor(modules, rules) {
    enter(this);
    this.modules = modules;
    this.rules = { ...rules };
    this.members = Array.from({ length: MEMBERS }, (_, index) => {
      return new Member(this, String(index + 1), index === 0 ? SKEW : 0);
    });
    this.processes = rules.limits.map((limit, index) => {
      const permits = rules.permits?.[index] ?? 1;
      return new QuorumProcess(this, 'ABC'[index], { limit, permits }, modules);
    });
  }

  violation(text) {
    this.violations.push(text);
  }

  failure(inDoubt) {
    return new this.modules.LockStoreError('no answer', { inDoubt, retryable: true, unreachable: true });
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
    if (this.doTokensGrow && token <= this.lastToken)
      this.violation(`the token ${token} after ${this.lastToken}`);
    this.lastToken = token + count - 1;
  }

  push(member, { owner, kind, ...grant }) {
    const process = this.processes.find(({ id }) => id === processOf(owner));
    process.connections[this.members.indexOf(member)].pushes.push({
      owner,
      kind,
      ...grant,
      startedAt: this.now,
    });
  }

  get connections() {
    return this.processes.flatMap((process) =>
      process.connections.map((connection) => ({
        process,
        connection,
        at: `${process.id} ${connection.member.id}`,
      })),
    );
  }

  get events() {
    const { rules } = this;
    const events = [];
    for (const { connection, at } of this.connections) {
      const { requests, answers, pushes } = connection;
      if (requests.length > 0) events.push(`${at} request arrives`);
      if (answers.length > 0) events.push(`${at} answer arrives`);
      if (pushes.length > 0) events.push(`${at} push arrives`);
      if (rules.losses > 0 && answers.length > 0) events.push(`${at} answer is lost`);
      if (rules.losses > 0 && pushes.length > 0) events.push(`${at} push is lost`);
    }
    for (const { id, state, isWaiting, retry } of this.processes) {
      if (state === 'idle' && rules.calls > 0) events.push(`${id} calls`);
      if (state === 'idle' && rules.tries > 0) events.push(`${id} tries`);
      if (state === 'holds') events.push(`${id} releases`);
      if (isWaiting && rules.leaves > 0) events.push(`${id} leaves`);
      if (state === 'waits' && rules.polls > 0) events.push(`${id} polls`);
      if (state === 'holds' && rules.renewals > 0) events.push(`${id} renews`);
      if (state === 'holds' && rules.reserves > 0) events.push(`${id} reserves`);
      if (retry !== undefined) events.push(`${id} retries`);
    }
    for (const { id, isAway } of this.members) {
      if (rules.breaks > 0 && !isAway) events.push(`member ${id} breaks its holds`);
      if (isAway) events.push(`member ${id} returns`);
      else if (rules.outages > 0) events.push(`member ${id} disappears`);
      if (isAway && rules.lostData > 0) events.push(`member ${id} returns empty`);
    }
    if (rules.steps > 0 && this.timers.size > 0) events.push('time passes');
    if (rules.leaps > 0 && this.nextEnd < Infinity) events.push('a lease ends');
    return events;
  }

  /** The next moment at which a process stops relying on its lease, or a member forgets one. */
  get nextEnd() {
    const leases = this.members.flatMap(({ store, skew }) =>
      store.holders.map(({ ends }) => ends + 1 - skew),
    );
    const deadlines = this.processes.filter(({ isRelying }) => isRelying).map(({ deadline }) => deadline);
    return Math.min(...[...leases, ...deadlines].filter((end) => end > this.now));
  }

  async apply(event) {
    enter(this);
    this.order = (this.order * 31 + event.length + event.charCodeAt(2)) % 1_009;
    const [id, second, third, verb] = event.split(' ');
    const { rules } = this;
    if (event === 'time passes') {
      rules.steps -= 1;
      await this.moveTo(Math.min(...[...this.timers].map(({ dueAt }) => dueAt)));
    } else if (event === 'a lease ends') {
      rules.leaps -= 1;
      await this.moveTo(this.nextEnd);
    } else if (id === 'member') this.change(this.members[Number(second) - 1], event);
    else {
      const process = this.processes.find((each) => each.id === id);
      if (verb === undefined) this.act(process, second);
      else this.pass(process.connections[Number(second) - 1], third, verb === 'is');
    }
    await settled();
  }

  pass(connection, what, isLost) {
    if (isLost) this.rules.losses -= 1;
    if (what === 'request') {
      connection.deliver();
      if (this.rules.prompt) this.pass(connection, 'answer', false);
    } else if (what === 'answer') {
      const { reply, resolve, reject } = connection.answers.shift();
      if (isLost) reject(this.failure(true));
      else resolve(reply);
    } else {
      const { owner, kind, ...grant } = connection.pushes.shift();
      if (isLost) return;
      if (kind === 'broken') connection.client.broken(owner);
      else connection.client.granted(owner, { since: grant.startedAt, ...grant });
    }
  }

  act(process, verb) {
    const { rules } = this;
    if (verb === 'calls') {
      rules.calls -= 1;
      process.call();
    } else if (verb === 'tries') {
      rules.tries -= 1;
      process.try();
    } else if (verb === 'releases') process.end();
    else if (verb === 'leaves') {
      rules.leaves -= 1;
      process.withdraw();
    } else if (verb === 'polls') {
      rules.polls -= 1;
      process.ask();
    } else if (verb === 'renews') {
      rules.renewals -= 1;
      process.renew();
    } else if (verb === 'reserves') {
      rules.reserves -= 1;
      process.reserve();
    } else process.retry();
  }

  change(member, event) {
    if (event.endsWith('holds')) {
      this.rules.breaks -= 1;
      // Somebody wants it so: the next holder may begin before the last one, and members, are told.
      this.isPromised = this.doTokensGrow = false;
      for (const message of member.present.breakHolds({}).messages) this.push(member, message);
      return;
    }
    if (event.endsWith('disappears')) {
      this.rules.outages -= 1;
      member.isAway = true;
      for (const { connection } of this.connections) if (connection.member === member) connection.cut();
      return;
    }
    member.isAway = false;
    if (event.endsWith('empty')) {
      this.rules.lostData -= 1;
      this.doTokensGrow = false;
      const others = this.members.filter((each) => each !== member);
      for (const { owner } of member.present.holders) {
        if (!others.every((each) => each.hasGrantedTo(owner))) this.isPromised = false;
      }
      member.store = new StoreModel();
    }
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

  /** Lets everything come to its end; nobody may wait for ever, and nothing be left behind. */
  async drain() {
    enter(this);
    Object.assign(this.rules, {
      calls: 0,
      tries: 0,
      leaves: 0,
      losses: 0,
      breaks: 0,
      outages: 0,
      lostData: 0,
      leaps: 0,
      renewals: 0,
      reserves: 0,
    });
    for (const { id, isAway } of this.members) if (isAway) await this.apply(`member ${id} returns`);
    for (let round = 0; round < 20 && this.violations.length === 0; round += 1) {
      for (let step = 0; step < 200; step += 1) {
        const events = this.events.filter((each) => !/passes|polls|retries/.test(each));
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
    for (const { id, state } of this.processes)
      if (state !== 'idle') this.violation(`${id} ${state} for ever`);
    for (const { id, store } of this.members) {
      if (store.holders.length + store.queue.length > 0)
        this.violation(`member ${id} is not empty at the end`);
    }
  }

  isTimerDue(within) {
    return [...this.timers].some(({ dueAt }) => dueAt <= this.now + within);
  }

  /** Equal for states from which the same can follow, as far as they show: what promises wait for is seen by their messages. */
  get fingerprint() {
    const ago = (time) =>
      Math.abs(time) === Infinity || time === undefined ? 'x' : Math.round(time - this.now);
    const wholes = this.processes.map(({ id, state, deadline, retry, acquires: all, owner }) => {
      const acquires = [...all.values()].map(({ state: of, hold, current: asked, splitVote, leave }) => [
        of,
        hold && [hold.token, hold.floor],
        asked && [
          asked.failures.length,
          asked.answered,
          asked.isCancelled,
          asked.hasTimedOut,
          ago(asked.sentAt),
        ],
        [
          splitVote.isBackingOff,
          splitVote.isLooking,
          splitVote.looks,
          splitVote.backOffs,
          splitVote.timer !== undefined,
        ],
        [leave.unconfirmed, leave.isDecided, leave.attempts?.length],
      ]);
      return [id, state, ago(deadline), retry !== undefined, owner, acquires];
    });
    const members = this.members.map(({ isAway, store, skew }, index) => [
      isAway,
      skew,
      store.holders.map(({ owner, token, ends, isUnclaimed }) => [owner, token, ago(ends), isUnclaimed]),
      store.queue.map(({ owner, aliveUntil }) => [owner, ago(aliveUntil)]),
      [...store.tombstones.keys()],
      store.lastToken,
      this.processes.map(({ connections, acquires }) => {
        const { requests, answers, pushes } = connections[index];
        return [
          requests.map(({ kind, request }) => [kind, request.owner ?? request[0]?.owner, request.inDoubt]),
          answers.map(({ kind, owner, reply }) => [kind, owner, reply?.outcome ?? reply, reply?.token]),
          pushes.map(({ owner, token, startedAt }) => [owner, token, ago(startedAt)]),
          [...acquires.values()].map((acquire) => this.votesAt(acquire, index, ago)),
        ];
      }),
    ]);
    // One member is as good as another.
    members.sort((one, next) => (JSON.stringify(one) < JSON.stringify(next) ? -1 : 1));
    const timers = [...this.timers].map(({ dueAt }) => ago(dueAt));
    const text = JSON.stringify([this.rules, wholes, members, timers, this.lastToken, this.isPromised]);
    // Of tokens the order counts.
    const tokens = [...new Set(text.match(/\b\d{10}\b/g))].sort();
    return text.replace(/\b\d{10}\b/g, (token) => `t${tokens.indexOf(token)}`);
  }

  votesAt(acquire, index, ago) {
    const member = acquire.members[index];
    const { vote, isQueued, keepsWaiting, inDoubt, pending, isUnclaimed, releases, announcement } = member;
    return [
      vote && [ago(vote.startedAt), vote.lease, vote.token],
      [isQueued, keepsWaiting, inDoubt, pending.size, isUnclaimed, releases],
      [announcement.floor, announcement.unconfirmed?.token, announcement.request !== undefined],
      acquire.current?.open.has(member),
    ];
  }
}
