/** Everything that the server has, with the time at which each key expires. */
const SAVE = `
  local state = {}
  for i, key in ipairs(KEYS) do
    local kind = redis.call('TYPE', key).ok
    local value = ''
    if kind == 'hash' then value = redis.call('HGETALL', key) end
    if kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
    if kind == 'list' then value = redis.call('LRANGE', key, 0, -1) end
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
    if saved.kind == 'list' then redis.call('RPUSH', key, unpack(value)) end
    if saved.kind == 'string' then redis.call('SET', key, value) end
    if saved.left >= 0 then redis.call('PEXPIRE', key, saved.left) end
  end`;

/** Scripts in a real Redis whose clock is moved, and whose data can be set back to an earlier state. */
export class ScriptedRedis {
  /** Whether the server has to be given `saved` before the next request. */
  isStale = true;
  at = undefined;

  /**
   * @param keys the names of all keys that the scripts use
   * @param scripts as the library calls them
   * @param plant a bug for the scripts: what is replaced in them
   */
  constructor(redis, keys, scripts, { from, to } = { from: '', to: '' }) {
    this.redis = redis;
    this.keys = keys;
    this.saved = this.empty = keys.map(() => ({ kind: 'none', value: '', left: -2 }));
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
  restore(saved = this.empty) {
    this.saved = saved;
    this.isStale = true;
  }

  step({ text, keyCount, args, decode }, replyOf) {
    const { reply, messages } = this.ask([
      ...this.subscriptions(),
      ['EVALSHA', this.shas.get(text.sha), keyCount, ...args],
    ]);
    return { reply: replyOf(decode(reply)), messages: messages.map((message) => this.messageOf(message)) };
  }

  look() {
    this.ask(this.subscriptions());
  }

  /** The reply to the last of the commands; what the server has then is in `saved`. */
  ask(commands) {
    const { keys } = this;
    const load = ['EVAL', LOAD, keys.length, ...keys, ...this.saved.map((key) => JSON.stringify(key))];
    const save = ['EVAL', SAVE, keys.length, ...keys];
    const { replies, messages } = this.redis.ask([...(this.isStale ? [load] : []), ...commands, save]);
    this.saved = JSON.parse(replies.at(-1));
    this.isStale = false;
    return { reply: replies.at(-2), messages };
  }
}

export function entriesOf(flat) {
  const entries = {};
  for (let index = 0; index < flat.length; index += 2) entries[flat[index]] = flat[index + 1];
  return entries;
}
