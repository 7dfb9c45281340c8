import { createRequire } from 'node:module';
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

/** Everything that the server has, with the time at which each key expires. */
const SAVE = `
  local state = {}
  for i, key in ipairs(KEYS) do
    local kind = redis.call('TYPE', key).ok
    local value = ''
    if kind == 'hash' then value = redis.call('HGETALL', key) end
    if kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
    if kind == 'string' then value = redis.call('GET', key) end
    state[i] = { kind = kind, value = value, left = redis.call('PTTL', key) }
  end
  return cjson.encode(state)`;
const LOAD = `
  redis.call('DEL', unpack(KEYS))
  for i, key in ipairs(KEYS) do
    local saved = cjson.decode(ARGV[i])
    local value = saved.value
    if saved.kind == 'hash' then redis.call('HSET', key, unpack(value)) end
    if saved.kind == 'zset' then
      for j = 1, #value, 2 do redis.call('ZADD', key, value[j + 1], value[j]) end
    end
    if saved.kind == 'string' then redis.call('SET', key, value) end
    if saved.left >= 0 then redis.call('PEXPIRE', key, saved.left) end
  end`;
const EMPTY = KEYS.map(() => ({ kind: 'none', value: '', left: -2 }));

/** The real scripts in a real Redis, with the interface of `StoreModel`. */
export class RedisStore {
  deaf = new Set();
  calls = Object.fromEntries(PROCESSES.map((process) => [process, new LockCalls(names, process)]));
  listening = new Set();
  saved = EMPTY;
  /** Whether the server has to be given `saved` before the next request. */
  isStale = true;
  at = undefined;

  /** @param plant a bug for the scripts: what is replaced in them */
  constructor(redis, { from, to } = { from: '', to: '' }) {
    this.redis = redis;
    redis.ask([['HELLO', '3']]);
    const all = Object.values(scripts).map(({ text }) => text);
    if (!all.some(({ source }) => source.includes(from))) throw new Error(`the bug has no place: ${from}`);
    const { replies } = redis.ask(all.map(({ source }) => ['SCRIPT', 'LOAD', source.replace(from, to)]));
    this.shas = new Map(all.map(({ sha }, index) => [sha, replies[index]]));
  }

  get now() {
    return this.at;
  }

  set now(ms) {
    if (this.isStale && this.at !== undefined) this.look();
    this.at = this.redis.now = ms;
  }

  /** Goes back to a state; `left` of its keys counts from the present clock. */
  load(saved = EMPTY, deaf = new Set()) {
    this.saved = saved;
    this.deaf = deaf;
    this.isStale = true;
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

  step({ text, keyCount, args, decode }, replyOf) {
    const { reply, messages } = this.ask([
      ...this.subscriptions(),
      ['EVALSHA', this.shas.get(text.sha), keyCount, ...args],
    ]);
    return { reply: replyOf(decode(reply)), messages: messages.map(messageOf) };
  }

  look() {
    this.ask(this.subscriptions());
  }

  /** The reply to the last of the commands; what the server has then is in `saved`. */
  ask(commands) {
    const load = ['EVAL', LOAD, KEYS.length, ...KEYS, ...this.saved.map((key) => JSON.stringify(key))];
    const save = ['EVAL', SAVE, KEYS.length, ...KEYS];
    const { replies, messages } = this.redis.ask([...(this.isStale ? [load] : []), ...commands, save]);
    this.saved = JSON.parse(replies.at(-1));
    this.isStale = false;
    return { reply: replies.at(-2), messages };
  }

  /** Nobody listens for a process that is deaf. */
  subscriptions() {
    const commands = [];
    for (const process of PROCESSES) {
      const isWanted = !this.deaf.has(process);
      if (isWanted === this.listening.has(process)) continue;
      commands.push([isWanted ? 'SUBSCRIBE' : 'UNSUBSCRIBE', channelOf(process)]);
      if (isWanted) this.listening.add(process);
      else this.listening.delete(process);
    }
    return commands;
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

function messageOf(text) {
  const [kind, owner, token, , lease, tokens, others] = text.split(' ');
  if (kind === 'broken') return { owner, kind };
  const numbers = { token: Number(token), lease: Number(lease), tokens: Number(tokens) };
  return { owner, kind, ...numbers, othersWait: others === '1' };
}

function entriesOf(flat) {
  const entries = {};
  for (let index = 0; index < flat.length; index += 2) entries[flat[index]] = flat[index + 1];
  return entries;
}

const permitsOf = (label) => Number(label.split('/')[1] ?? 1);
const limitOf = (text) => (text === '0' ? Infinity : Number(text));
