// Two or three processes with the real quorum code on three members, each a model of a store. Every request, answer and push is
// delivered when the explorer says so, and time passes when it says so.

import { Member, QuorumProcess } from './quorum-process.mjs';
import { StoreModel, processOf } from './store-model.mjs';
import { enter, TimedWorld } from './world-time.mjs';

const MEMBERS = 3;
/** By how much the clock of one member is ahead, ms: less than any lease, or tokens may be smaller after one has ended. */
const SKEW = 1_000;

/**
 * The locks exclude each other until a member has lost a vote without which there is no majority. Tokens grow until a member has
 * lost its counter: it begins with its clock, which may be behind another one's.
 */
export class QuorumWorld extends TimedWorld {
  /**
   * @param modules the built `openQuorum`, `LockStoreError` and `deadlineOf`
   * @param rules see `TimedWorld`, and how many `losses` of answers or pushes, `breaks` by an operator, `outages` of a member, and
   *   `lostData`: outages after which it comes back empty
   */
  constructor(modules, rules) {
    super(modules, rules);
    this.members = Array.from({ length: MEMBERS }, (_, index) => {
      return new Member(this, String(index + 1), index === 0 ? SKEW : 0);
    });
    this.processes = rules.limits.map((limit, index) => {
      const permits = rules.permits?.[index] ?? 1;
      return new QuorumProcess(this, 'ABC'[index], { limit, permits }, modules);
    });
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

  get places() {
    const members = this.members.map((member) => [`member ${member.id}`, () => this.changesOf(member)]);
    return [...super.places, ...members];
  }

  actionsOf(process) {
    const actions = {};
    for (const connection of process.connections) {
      const { requests, answers, pushes, member } = connection;
      const act = (what, isLost) => () => this.transfer(connection, what, isLost);
      Object.assign(actions, {
        [`${member.id} request arrives`]: { can: requests.length > 0, act: act('request') },
        [`${member.id} answer arrives`]: { can: answers.length > 0, act: act('answer') },
        [`${member.id} push arrives`]: { can: pushes.length > 0, act: act('push') },
        [`${member.id} answer is lost`]: {
          can: answers.length > 0,
          costs: 'losses',
          act: act('answer', true),
        },
        [`${member.id} push is lost`]: { can: pushes.length > 0, costs: 'losses', act: act('push', true) },
      });
    }
    return { ...actions, ...super.actionsOf(process) };
  }

  changesOf(member) {
    const { isAway } = member;
    return {
      'breaks its holds': { can: !isAway, costs: 'breaks', act: () => this.break(member) },
      disappears: { can: !isAway, costs: 'outages', act: () => this.cut(member) },
      returns: { can: isAway, act: () => (member.isAway = false) },
      'returns empty': { can: isAway, costs: 'lostData', act: () => this.empty(member) },
    };
  }

  /** The next moment at which a process stops relying on its lease, or a member forgets one. */
  get nextEnd() {
    const leases = this.members.flatMap(({ store, skew }) =>
      store.holders.map(({ ends }) => ends + 1 - skew),
    );
    const deadlines = this.processes.filter(({ isRelying }) => isRelying).map(({ deadline }) => deadline);
    return Math.min(...[...leases, ...deadlines].filter((end) => end > this.now));
  }

  transfer(connection, what, isLost = false) {
    if (what === 'request') {
      connection.deliver();
      if (this.rules.prompt) this.transfer(connection, 'answer');
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

  /** An operator breaks the lock. The next hold may begin before the last holder and the other members are notified. */
  break(member) {
    this.isPromised = this.doTokensGrow = false;
    for (const message of member.present.breakHolds({}).messages) this.push(member, message);
  }

  cut(member) {
    member.isAway = true;
    const index = this.members.indexOf(member);
    for (const { connections } of this.processes) connections[index].cut();
  }

  empty(member) {
    member.isAway = this.doTokensGrow = false;
    const others = this.members.filter((each) => each !== member);
    for (const { owner } of member.present.holders) {
      if (!others.every((each) => each.hasGrantedTo(owner))) this.isPromised = false;
    }
    member.store = new StoreModel();
  }

  /** Lets everything come to its end; nobody may wait for ever, and nothing be left behind. */
  async drain() {
    enter(this);
    this.allowNothingNew();
    for (const { id, isAway } of this.members) if (isAway) await this.apply(`member ${id} returns`);
    await this.comeToEnd(20, () => this.events.filter((each) => !each.endsWith('retries')));
    for (const { id, store } of this.members) {
      if (store.holders.length + store.queue.length > 0)
        this.violation(`member ${id} is not empty at the end`);
    }
  }

  /** Equal for states from which the same can follow, as far as they show: what promises wait for is seen by their messages. */
  get fingerprint() {
    const { ago } = this;
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
