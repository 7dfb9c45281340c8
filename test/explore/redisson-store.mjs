import { createRequire } from 'node:module';
import { processOf } from './redisson-model.mjs';
import { entriesOf, ScriptedRedis } from './scripted-redis.mjs';

const require = createRequire(import.meta.url);
const { RedissonKeyNames } = require('../../build/cjs/stores/redisson/redisson-names.js');
const { RedissonCalls, redissonScripts } = require('../../build/cjs/stores/redisson/redisson-scripts.js');

const KEY = 'key';
const names = new RedissonKeyNames('explore:', false);
const lock = names.of(KEY);
const KEYS = [lock.lock, lock.counter, lock.gone, lock.queue, lock.timeouts];
const CHANNELS = names.own.channels(0);
const CLIENTS = ['A', 'B', 'J'];

/** What Redisson does with the same keys. KEYS: lock, counter, queue, timeouts; ARGV: owner, ms, channel. */
const JAVA = {
  reentrantLock: `
    if redis.call('TYPE', KEYS[1]).ok == 'string' then return 'other' end
    if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
      return redis.call('PTTL', KEYS[1])
    end
    redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return 'locked'`,
  fencedLock: `
    if redis.call('TYPE', KEYS[1]).ok == 'string' then return 'other' end
    if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
      return redis.call('PTTL', KEYS[1])
    end
    redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return { 'token', redis.call('INCR', KEYS[2]) }`,
  unlock: `
    if redis.call('TYPE', KEYS[1]).ok == 'string' then return 'other' end
    if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 'not held' end
    local count = redis.call('HINCRBY', KEYS[1], ARGV[1], -1)
    if count > 0 then
      redis.call('PEXPIRE', KEYS[1], ARGV[2])
      return count
    end
    redis.call('DEL', KEYS[1])
    redis.call('PUBLISH', ARGV[3], '0')
    return 'unlocked'`,
  renewLock: `
    if redis.call('TYPE', KEYS[1]).ok == 'string' then return 'other' end
    if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 'not held' end
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return 'renewed'`,
  forceUnlock: `
    if redis.call('DEL', KEYS[1]) == 0 then return 'free' end
    redis.call('PUBLISH', ARGV[3], '0')
    return 'unlocked'`,
  lockToRead: `
    if redis.call('EXISTS', KEYS[1]) == 1 then return 'other' end
    redis.call('HSET', KEYS[1], 'mode', 'read', ARGV[1], '1')
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return 'locked'`,
  makeString: `
    if redis.call('EXISTS', KEYS[1]) == 1 then return 'other' end
    redis.call('SET', KEYS[1], '1', 'PX', ARGV[2])
    return 'made'`,
  queue: `
    if redis.call('ZSCORE', KEYS[4], ARGV[1]) then return 'queued' end
    local time = redis.call('TIME')
    redis.call('RPUSH', KEYS[3], ARGV[1])
    redis.call('ZADD', KEYS[4], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2], ARGV[1])
    return 'queued'`,
  leaveQueue: `
    redis.call('ZREM', KEYS[4], ARGV[1])
    return redis.call('LREM', KEYS[3], 0, ARGV[1])`,
};

/** The real scripts of Redisson's locks in a real Redis, with the interface of `RedissonModel`. */
export class RedissonStore extends ScriptedRedis {
  listeners = new Set();
  localToken = 0;
  calls = Object.fromEntries(
    CLIENTS.map((client) => [
      client,
      new RedissonCalls(
        (key) => names.of(key),
        () => 'p',
        () => this.listeners.has(client),
        () => (client === 'B' ? this.localToken : undefined),
      ),
    ]),
  );

  /** @param plant a bug for the scripts */
  constructor(redis, plant) {
    super(redis, KEYS, redissonScripts, plant);
    // Redis does not count the clients of patterns as listeners.
    redis.ask([
      ['PSUBSCRIBE', `${lock.channel}*`],
      ['PSUBSCRIBE', `${CHANNELS}*`],
    ]);
  }

  load(saved, listeners = new Set(), localToken = 0) {
    this.restore(saved);
    this.listeners = listeners;
    this.localToken = localToken;
  }

  take(requests) {
    const all = requests.map((request) => ({ ...request, key: KEY, label: undefined }));
    return this.step(this.calls[processOf(all[0].owner)].take(all), (replies) => replies);
  }

  release(requests) {
    const all = requests.map((request) => ({ ...request, key: KEY }));
    return this.step(this.calls[processOf(all[0].owner)].release(all), (replies) => replies);
  }

  renew(request) {
    const call = this.calls[processOf(request.owner)].renew([{ ...request, key: KEY }]);
    return this.step(call, ([outcome]) => ({ outcome }));
  }

  reserve(request) {
    const call = this.calls[processOf(request.owner)].reserve([{ ...request, key: KEY }]);
    return this.step(call, ([reply]) => reply);
  }

  inspect() {
    return this.step(this.calls.A.inspect(KEY), (found) => found);
  }

  breakHold(hold) {
    return this.step(this.calls.A.breakHold(KEY, hold, CHANNELS), (reply) => reply);
  }

  java(operation, owner, ms) {
    const source = JAVA[operation];
    const keys = [lock.lock, lock.counter, lock.queue, lock.timeouts];
    const { reply, messages } = this.ask([
      ...this.subscriptions(),
      ['EVAL', source, keys.length, ...keys, owner, ms, lock.channel],
    ]);
    return { reply, messages: messages.map((message) => this.messageOf(message)) };
  }

  subscriptions() {
    for (const client of CLIENTS) this.redis.setListening(client, lock.channel, this.listeners.has(client));
    return [];
  }

  messageOf({ channel, text }) {
    if (channel.startsWith(CHANNELS)) return { to: channel.slice(CHANNELS.length), text };
    return { to: `channel${channel.slice(lock.channel.length)}`, text };
  }

  get lock() {
    const [{ kind, value, left }] = this.saved;
    if (kind === 'none') return undefined;
    const fields = kind === 'hash' ? entriesOf(value) : {};
    return { kind, fields, ends: this.now + left };
  }

  get lastToken() {
    return Number(this.saved[1].value);
  }

  get tombstones() {
    return new Map(Object.entries(timesOf(this.saved[2])));
  }

  get fairQueue() {
    const [, , , { value }, timeouts] = this.saved;
    const times = timesOf(timeouts);
    return [...value].map((owner) => ({ owner, until: times[owner] }));
  }

  /** Keys that would stay for ever; Redisson keeps its counter and the queue of an `RFairLock`. */
  get leftForEver() {
    return [0, 2].filter((index) => this.saved[index].left === -1).map((index) => KEYS[index]);
  }

  /** All that the scripts can see, but for tokens and times at which holds began, which only pass through. */
  get fingerprint() {
    const { lock: found, now, tombstones, fairQueue } = this;
    const fields = Object.entries(found?.fields ?? {}).filter(
      ([name]) => name !== 'token' && name !== 'since',
    );
    return JSON.stringify([
      found?.kind,
      fields.sort(),
      this.saved.map(({ left }) => left),
      [...tombstones].map(([owner, until]) => [owner, until - now]).sort(),
      fairQueue.map(({ owner, until }) => [owner, until - now]),
      [this.lastToken, this.localToken].map((token) => Math.max(0, token - now * 1_000)),
    ]);
  }
}

function timesOf({ value }) {
  return Object.fromEntries(Object.entries(entriesOf(value)).map(([owner, time]) => [owner, Number(time)]));
}
