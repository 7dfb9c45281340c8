import { createRequire } from 'node:module';
import { entriesOf, ScriptedRedis } from './scripted-redis.mjs';
import { processOf } from './store-model.mjs';

const require = createRequire(import.meta.url);
const { KeyNames } = require('../../build/cjs/stores/redis/scripts/key-names.js');
const { LockCalls, scripts } = require('../../build/cjs/stores/redis/scripts/scripts.js');

const PROCESSES = ['A', 'B', 'C'];
const KEY = 'key';
const names = new KeyNames('explore:');
const channelOf = (process) => names.channels(0) + process;
const lock = names.of(KEY);
const KEYS = [
  lock.lock,
  lock.queue,
  lock.waiters,
  names.fence(0),
  ...PROCESSES.map((process) => names.tombstones(0, process)),
];

/** The real scripts in a real Redis, with the interface of `StoreModel`. */
export class RedisStore extends ScriptedRedis {
  deaf = new Set();
  relayed = new Set();
  calls = Object.fromEntries(PROCESSES.map((process) => [process, new LockCalls(names, process)]));
  /** How each process listens at present. */
  listening = new Map();

  /** @param plant a bug for the scripts */
  constructor(redis, plant) {
    super(redis, KEYS, scripts, plant);
  }

  load(saved, deaf = new Set(), relayed = new Set()) {
    this.restore(saved);
    this.deaf = deaf;
    this.relayed = relayed;
  }

  snapshot() {
    const { saved, deaf, relayed } = this;
    return () => {
      this.load(saved, deaf, relayed);
    };
  }

  acquire(request) {
    const { owner, wait = true, claimLease = 2_000 } = request;
    const all = { callers: 1, permits: 1, label: undefined, ...request, key: KEY, wait, claimLease };
    const process = processOf(owner);
    return this.step(this.calls[process].acquire(all, 'p', channelOf(process)), ({ reply }) => reply);
  }

  /** The quick way to an exclusive lock that is free; `undecided` where `acquire` has to decide. */
  take(request) {
    const call = this.calls[processOf(request.owner)].take([{ ...request, key: KEY }]);
    return this.step(call, ([{ token, ttl }]) => {
      if (token !== undefined) return { outcome: 'granted', token };
      return { outcome: ttl === -2 ? 'undecided' : 'refused' };
    });
  }

  release({ owner }) {
    return this.step(this.calls[processOf(owner)].release([{ key: KEY, owner }]), ([outcome]) => ({
      outcome,
    }));
  }

  cancel({ owner, inDoubt = true }) {
    return this.step(this.calls[processOf(owner)].cancel({ key: KEY, owner, inDoubt }), (outcome) => ({
      outcome,
    }));
  }

  renew({ owner, ...request }) {
    const all = [{ key: KEY, owner, ...request }];
    return this.step(this.calls[processOf(owner)].renew(all), ([outcome]) => ({ outcome }));
  }

  reserve({ owner, lease = 0, tokens }) {
    const all = [{ key: KEY, owner, lease, tokens }];
    return this.step(this.calls[processOf(owner)].reserve(all), ([reply]) => reply);
  }

  raise({ owner, ...request }) {
    return this.step(
      this.calls[processOf(owner)].raise({ key: KEY, owner, since: this.now, ...request }),
      () => ({}),
    );
  }

  breakHolds({ owner }) {
    return this.step(this.calls.A.breakHold(KEY, { owner }, 'p', 0), (outcome) => ({ outcome }));
  }

  /** Clients of a pattern get the messages, but are not counted: just like those that listen at a replica. */
  subscriptions() {
    const commands = [];
    for (const process of PROCESSES) {
      const present = this.listening.get(process);
      const wanted = this.deaf.has(process)
        ? undefined
        : this.relayed.has(process)
          ? 'PSUBSCRIBE'
          : 'SUBSCRIBE';
      if (present === wanted) continue;
      const channel = channelOf(process);
      if (present !== undefined) commands.push([present.replace('SUB', 'UNSUB'), channel]);
      if (wanted !== undefined) commands.push([wanted, channel]);
      this.listening.set(process, wanted);
    }
    return commands;
  }

  messageOf({ text }) {
    const [kind, owner, token, , lease, tokens, others] = text.split(' ');
    if (kind === 'broken') return { owner, kind };
    const numbers = { token: Number(token), lease: Number(lease), tokens: Number(tokens) };
    return { owner, kind, ...numbers, othersWait: others === '1' };
  }

  get holders() {
    const [{ value, left }] = this.saved;
    const fields = entriesOf(value);
    const owners = Object.keys(fields).filter((field) => field.includes(':'));
    if (fields.limit === undefined) {
      const ends = this.now + left;
      const token = Number(fields.token);
      return owners.map((owner) => ({
        owner,
        limit: 1,
        permits: 1,
        token,
        ends,
        isUnclaimed: 'unclaimed' in fields,
      }));
    }
    const limit = limitOf(fields.limit);
    return owners
      .map((owner) => {
        const [ends, token, , unclaimed, label] = fields[owner].split(' ');
        const isUnclaimed = unclaimed === '1';
        return {
          owner,
          limit,
          permits: permitsOf(label),
          token: Number(token),
          ends: Number(ends),
          isUnclaimed,
        };
      })
      .filter(({ ends }) => ends > this.now);
  }

  get queue() {
    const [, queue, waiters] = this.saved;
    const records = entriesOf(waiters.value);
    return Object.keys(entriesOf(queue.value)).map((owner) => {
      const [aliveUntil, claim, , heard, tokens, , limit, label] = records[owner].split(' ');
      return {
        owner,
        limit: limitOf(limit),
        permits: permitsOf(label),
        tokens: Number(tokens),
        claimLease: Number(claim),
        heard: ['always', 'not', 'again'][Number(heard)],
        aliveUntil: Number(aliveUntil),
      };
    });
  }

  get tombstones() {
    const all = this.saved.slice(4).flatMap(({ value }) => Object.entries(entriesOf(value)));
    return new Map(all.map(([owner, until]) => [owner, Number(until)]));
  }

  get lastToken() {
    return Number(this.saved[3].value);
  }

  /** Keys, except for the last token, that would stay for ever. */
  get leftForEver() {
    return KEYS.filter((_, index) => index !== 3 && this.saved[index].left === -1);
  }

  /** All that the scripts can see, but for tokens and times at which holds began, which only pass through. */
  get fingerprint() {
    const [lock, queue, waiters, , ...tombstones] = this.saved;
    const sorted = ({ value }) => Object.entries(entriesOf(value)).sort();
    const positions = Object.keys(entriesOf(queue.value));
    const ends = this.saved.map(({ left }) => left);
    const ahead = Math.max(0, this.lastToken - this.now * 1_000);
    return JSON.stringify([sorted(lock), positions, sorted(waiters), tombstones.map(sorted), ends, ahead])
      .replace(/\b\d{16}\b/g, 'token')
      .replace(/\b(\d{13}) token \d{13}\b/g, '$1 token')
      .replace(/"since","\d{13}"/, '')
      .replace(/\b\d{13}\b/g, (time) => String(Number(time) - this.now));
  }
}

const permitsOf = (label) => Number(label.split('/')[1] ?? 1);
const limitOf = (text) => (text === '0' ? Infinity : Number(text));
