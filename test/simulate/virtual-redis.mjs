import { createHash } from 'node:crypto';
import { LuaFactory } from 'wasmoon';
import { EPOCH } from './virtual-world.mjs';

/** What differs from the Lua 5.1 of Redis, and the library `redis`. Lists cross the border as one text, for speed. */
const PRELUDE = `
unpack = table.unpack
local SEPARATOR, LIST, NONE, ERROR, STATUS = '\\31', '\\30', '\\29', '\\28', '\\27'
local call_server, concat, format, kind_of = call_server, table.concat, string.format, math.type

local function split(text)
  local list = {}
  for each in string.gmatch(text, '([^\\31]*)\\31') do
    if each == NONE then
      list[#list + 1] = false
    elseif string.byte(each) == 26 then
      list[#list + 1] = tonumber(string.sub(each, 2))
    else
      list[#list + 1] = each
    end
  end
  return list
end

local function text_of(...)
  local args = { ... }
  for i = 1, #args do
    if kind_of(args[i]) == 'float' then args[i] = format('%.17g', args[i]) end
  end
  return concat(args, SEPARATOR)
end

local function decode(reply)
  if type(reply) ~= 'string' then return reply end
  local kind = string.sub(reply, 1, 1)
  if kind == LIST then
    local list = split(string.sub(reply, 2))
    return list
  end
  if kind == ERROR then return { err = string.sub(reply, 2) } end
  if kind == STATUS then return { ok = string.sub(reply, 2) } end
  return reply
end

redis = {}
function redis.pcall(...)
  return decode(call_server(text_of(...)))
end
function redis.call(...)
  local reply = decode(call_server(text_of(...)))
  if type(reply) == 'table' and reply.err then error(reply, 0) end
  return reply
end

local function encode(reply)
  local kind = math.type(reply) or type(reply)
  if kind == 'string' then return '$' .. #reply .. '\\r\\n' .. reply .. '\\r\\n' end
  if kind == 'integer' then return ':' .. reply .. '\\r\\n' end
  if kind == 'float' then return string.format(':%.0f\\r\\n', reply >= 0 and math.floor(reply) or math.ceil(reply)) end
  if reply == true then return ':1\\r\\n' end
  if kind ~= 'table' then return '$-1\\r\\n' end
  if reply.err then return '-' .. reply.err .. '\\r\\n' end
  if reply.ok then return '+' .. reply.ok .. '\\r\\n' end
  local parts = {}
  for _, each in ipairs(reply) do parts[#parts + 1] = encode(each) end
  return '*' .. #parts .. '\\r\\n' .. table.concat(parts)
end

local scripts = {}
function run_script(sha, source, keys, args)
  KEYS, ARGV = split(keys), split(args)
  scripts[sha] = scripts[sha] or load(source, '@user_script', 't')
  local done, reply = pcall(scripts[sha])
  if done then return encode(reply) end
  local text = type(reply) == 'table' and reply.err or 'ERR ' .. tostring(reply)
  return '-' .. string.gsub(text, '[\\r\\n]', ' ') .. '\\r\\n'
end
`;

/** Runs the library's scripts, for all servers of a world. */
class ScriptRunner {
  /** The server that runs a script now. */
  server;
  #run;
  #known = new Set();

  static async create() {
    const lua = await new LuaFactory().createEngine({ enableProxy: false, injectObjects: false });
    const runner = new ScriptRunner();
    lua.global.set('call_server', (text) => written(runner.server.call(text.split('\x1f'))));
    await lua.doString(PRELUDE);
    runner.#run = lua.global.get('run_script');
    return runner;
  }

  run(server, sha, source, keys, args) {
    this.server = server;
    const join = (texts) => texts.map((text) => `${text}\x1f`).join('');
    return this.#run(sha, this.#known.has(sha) ? '' : (this.#known.add(sha), source), join(keys), join(args));
  }
}

/** A reply as a script reads it. */
function written(reply) {
  if (typeof reply !== 'object') return reply;
  if (Array.isArray(reply)) {
    const marked = (each) => (each === false ? '\x1d' : typeof each === 'number' ? `\x1a${each}` : each);
    return `\x1e${reply.map((each) => `${marked(each)}\x1f`).join('')}`;
  }
  return reply.err === undefined ? `\x1b${reply.ok}` : `\x1c${reply.err}`;
}

export const scriptRunner = () => ScriptRunner.create();

const error = (err) => ({ err });
const OK = { ok: 'OK' };
const WRONG_TYPE = error('WRONGTYPE Operation against a key holding the wrong kind of value');
const NO_INTEGER = error('ERR value is not an integer or out of range');
const wrongNumber = (name) => error(`ERR wrong number of arguments for '${name.toLowerCase()}' command`);

function encode(reply) {
  if (typeof reply === 'number') return `:${reply}\r\n`;
  if (typeof reply === 'string') return `$${reply.length}\r\n${reply}\r\n`;
  if (Array.isArray(reply)) return `*${reply.length}\r\n${reply.map(encode).join('')}`;
  if (reply === false) return '$-1\r\n';
  return reply.err === undefined ? `+${reply.ok}\r\n` : `-${reply.err}\r\n`;
}

/** The commands in a text of the protocol. All texts of the simulation are ASCII. */
export function decodeCommands(text) {
  const commands = [];
  let at = 0;
  const line = () => {
    const end = text.indexOf('\r\n', at);
    const number = Number(text.slice(at + 1, end));
    at = end + 2;
    return number;
  };
  while (at < text.length) {
    const args = [];
    for (let count = line(); count > 0; count -= 1) {
      const length = line();
      args.push(text.slice(at, at + length));
      at += length + 2;
    }
    commands.push(args);
  }
  return commands;
}

const isInteger = (text) => /^-?\d+$/.test(text);
/** The keys of a command, by which a Cluster chooses its server. */
function keysOf(name, args) {
  if (/^EVAL(SHA)?$/.test(name)) return args.slice(2, 2 + Number(args[1]));
  if (name === 'SSUBSCRIBE') return [args[0]];
  return (name in READS || name in WRITES) && !/^(TIME|PUBSUB|PUBLISH)$/.test(name) ? [args[0]] : [];
}

const byScore = ([one, first], [other, second]) => first - second || (one < other ? -1 : 1);

/**
 * What scripts and sessions use, each with the least number of its arguments. `null` instead of a value of another type
 * becomes an error.
 */
const READS = {
  TIME: [0, (s) => [String(Math.floor(s.micros / 1e6)), String(s.micros % 1_000_000)]],
  EXISTS: [1, (s, ...keys) => keys.filter((key) => s.find(key) !== undefined).length],
  TYPE: [1, (s, key) => ({ ok: s.find(key)?.type ?? 'none' })],
  GET: [1, (s, key) => s.read(key, 'string') ?? false],
  PTTL: [1, (s, key) => (s.find(key) === undefined ? -2 : s.ttl(key))],
  HGET: [2, (s, key, field) => s.read(key, 'hash')?.get(field) ?? false],
  HMGET: [2, (s, key, ...fields) => fields.map((field) => s.read(key, 'hash')?.get(field) ?? false)],
  HEXISTS: [2, (s, key, field) => (s.read(key, 'hash')?.has(field) ? 1 : 0)],
  HGETALL: [1, (s, key) => [...(s.read(key, 'hash') ?? [])].flat()],
  HKEYS: [1, (s, key) => [...(s.read(key, 'hash')?.keys() ?? [])]],
  HLEN: [1, (s, key) => s.read(key, 'hash')?.size ?? 0],
  LRANGE: [3, (s, key) => [...(s.read(key, 'list') ?? [])]],
  ZCARD: [1, (s, key) => s.read(key, 'zset')?.size ?? 0],
  ZSCORE: [
    2,
    (s, key, member) => {
      const score = s.read(key, 'zset')?.get(member);
      return score === undefined ? false : String(score);
    },
  ],
  ZRANGE: [
    3,
    (s, key, first, last, withScores) => {
      const all = [...(s.read(key, 'zset') ?? [])].sort(byScore);
      const index = (text) => (Number(text) < 0 ? all.length + Number(text) : Number(text));
      const chosen = all.slice(index(first), index(last) + 1);
      return withScores === undefined
        ? chosen.map(([member]) => member)
        : chosen.flatMap(([member, score]) => [member, String(score)]);
    },
  ],
  PUBSUB: [
    1,
    (s, kind, ...channels) => {
      if (!/^(SHARD)?NUMSUB$/i.test(kind)) return error(`ERR unknown subcommand '${kind}'`);
      return channels.flatMap((channel) => [channel, s.listeners(channel).length]);
    },
  ],
  PUBLISH: [2, (s, channel, text) => s.publish(channel, text)],
  SPUBLISH: [2, (s, channel, text) => s.publish(channel, text)],
};

const WRITES = {
  SET: [
    2,
    (s, key, value, ...options) => {
      const has = (name) => options.some((each) => each.toUpperCase() === name);
      const before = s.find(key);
      if (has('GET') && before !== undefined && before.type !== 'string') return WRONG_TYPE;
      const reply = has('GET') ? (before?.value ?? false) : OK;
      if ((has('XX') && before === undefined) || (has('NX') && before !== undefined))
        return has('GET') ? reply : false;
      const px = options.findIndex((each) => each.toUpperCase() === 'PX');
      s.put(key, 'string', value, px < 0 ? undefined : s.millis + Number(options[px + 1]));
      return reply;
    },
  ],
  DEL: [1, (s, ...keys) => keys.filter((key) => s.find(key) !== undefined && s.remove(key)).length],
  PEXPIRE: [2, (s, key, ms) => s.expire(key, s.millis + Number(ms))],
  INCRBY: [
    2,
    (s, key, by) => {
      const value = s.read(key, 'string') ?? '0';
      if (!isInteger(by) || !isInteger(value)) return NO_INTEGER;
      s.keep(key, 'string', String(Number(value) + Number(by)));
      return Number(value) + Number(by);
    },
  ],
  HSET: [
    3,
    (s, key, ...pairs) => {
      if (pairs.length % 2 !== 0) return wrongNumber('hset');
      const hash = s.draft(key, 'hash');
      const before = hash.size;
      for (let i = 0; i < pairs.length; i += 2) hash.set(pairs[i], pairs[i + 1]);
      s.keep(key, 'hash', hash);
      return hash.size - before;
    },
  ],
  HDEL: [2, (s, key, ...fields) => s.without(key, 'hash', fields)],
  HINCRBY: [
    3,
    (s, key, field, by) => {
      const hash = s.draft(key, 'hash');
      const value = hash.get(field) ?? '0';
      if (!isInteger(by) || !isInteger(value)) return NO_INTEGER;
      hash.set(field, String(Number(value) + Number(by)));
      s.keep(key, 'hash', hash);
      return Number(value) + Number(by);
    },
  ],
  ZADD: [
    3,
    (s, key, ...rest) => {
      const flags = new Set();
      while (/^(XX|NX|GT|LT|CH)$/i.test(rest[0])) flags.add(rest.shift().toUpperCase());
      const set = s.draft(key, 'zset');
      const before = set.size;
      for (let i = 0; i < rest.length; i += 2) {
        const [score, member] = [Number(rest[i]), rest[i + 1]];
        if (Number.isNaN(score)) return error('ERR value is not a valid float');
        const known = set.get(member);
        const isKept =
          known === undefined ? flags.has('XX') : flags.has('NX') || (flags.has('GT') && known >= score);
        if (!isKept) set.set(member, score);
      }
      if (set.size > 0) s.keep(key, 'zset', set);
      return set.size - before;
    },
  ],
  ZREM: [2, (s, key, ...members) => s.without(key, 'zset', members)],
};
WRITES.INCR = [1, (s, key) => WRITES.INCRBY[1](s, key, '1')];

class TypeError_ extends Error {}

/**
 * A Redis server in virtual time: as much of it as the library uses. What a command or a script has written is sent to the
 * replicas as one batch, together with what it has published.
 */
export class RedisServer {
  stalledUntil = 0;
  /** Replicas reject writes, and deliver what the primary publishes. */
  isReplica = false;
  /** Crashed: nothing reaches it. */
  isDown = false;
  /** Writes wait, as during FAILOVER. */
  isPaused = false;
  connections = new Set();
  replicas = [];
  /** By key: values that are replaced, never changed, so that replicas can share them. */
  data = new Map();
  #scripts = new Map();
  #waiting = [];
  #written = new Set();
  #published = [];
  /** Batches that a new primary did not get are not applied any more. */
  #source = 0;
  #primary;
  #batchAt = 0;
  /** How long replication takes, ms. */
  lag = 1;
  /** What this server knows of its Cluster. */
  cluster;

  constructor(world, runner, name) {
    Object.assign(this, { world, runner, name });
    this.runId = createHash('sha1').update(name).digest('hex');
  }

  get micros() {
    return EPOCH * 1_000 + Math.floor(this.world.now * 1_000);
  }

  get millis() {
    return EPOCH + Math.floor(this.world.now);
  }

  // Keys

  find(key) {
    const entry = this.data.get(key);
    return entry === undefined || entry.expiresAt < this.millis ? undefined : entry;
  }

  read(key, type) {
    const entry = this.find(key);
    if (entry !== undefined && entry.type !== type) throw new TypeError_();
    return entry?.value;
  }

  /** A copy of a value, to be changed and kept. */
  draft(key, type) {
    return new Map(this.read(key, type));
  }

  ttl(key) {
    const { expiresAt } = this.find(key);
    return expiresAt === undefined ? -1 : expiresAt - this.millis;
  }

  put(key, type, value, expiresAt) {
    this.data.set(key, { type, value, expiresAt });
    this.#written.add(key);
  }

  /** A new value with the same expiry. */
  keep(key, type, value) {
    this.put(key, type, value, this.find(key)?.expiresAt);
  }

  expire(key, expiresAt) {
    const entry = this.find(key);
    if (entry === undefined) return 0;
    if (expiresAt <= this.millis) this.remove(key);
    else this.put(key, entry.type, entry.value, expiresAt);
    return 1;
  }

  remove(key) {
    this.#written.add(key);
    return this.data.delete(key);
  }

  without(key, type, members) {
    const value = this.draft(key, type);
    const count = members.filter((member) => value.delete(member)).length;
    if (count === 0) return 0;
    if (value.size === 0) this.remove(key);
    else this.keep(key, type, value);
    return count;
  }

  // Channels

  listeners(channel) {
    return [...this.connections].filter(({ channels }) => channels.has(channel));
  }

  publish(channel, text) {
    if (!this.isReplica) this.#published.push([channel, text]);
    return this.#deliver(channel, text);
  }

  #deliver(channel, text) {
    const listeners = this.listeners(channel);
    this.world.note(this.name, this.isReplica ? 'relays' : 'publishes', text, 'to', listeners.length);
    for (const connection of listeners)
      connection.push(encode([connection.channels.get(channel), channel, text]));
    return listeners.length;
  }

  /** The slots of these channels have moved away. */
  unsubscribe(hasMoved) {
    for (const connection of this.connections) {
      for (const channel of [...connection.channels.keys()].filter(hasMoved)) {
        connection.channels.delete(channel);
        connection.unsubscribed(channel, encode(['sunsubscribe', channel, connection.channels.size]));
      }
    }
  }

  // Commands

  /** Commands that came together. */
  receive(connection, commands) {
    if (this.isDown) return;
    if (this.isPaused && commands.some(([name]) => !/^(INFO|PING|HELLO|CLIENT|S?SUBSCRIBE)$/i.test(name))) {
      this.#waiting.push([connection, commands]);
      return;
    }
    const replies = commands.map((args) => this.execute(args, connection));
    connection.reply(replies.join(''));
  }

  resume() {
    this.isPaused = false;
    for (const [connection, commands] of this.#waiting.splice(0))
      if (this.connections.has(connection)) this.receive(connection, commands);
  }

  /** One command of a connection; returns text of the protocol. */
  execute([command, ...args], connection) {
    const name = command.toUpperCase();
    if (this.cluster !== undefined) {
      if (name === 'CLUSTER') return encode(this.cluster.ranges());
      const { isAsking = false } = connection;
      connection.isAsking = name === 'ASKING';
      if (name === 'ASKING') return encode(OK);
      const elsewhere = this.cluster.redirection(keysOf(name, args), name === 'SSUBSCRIBE', isAsking);
      if (elsewhere !== undefined) return encode(error(elsewhere));
    }
    if (name === 'EVAL' || name === 'EVALSHA') return this.#evaluate(name, args);
    if (name === 'SUBSCRIBE' || name === 'SSUBSCRIBE') {
      connection.channels.set(args[0], name === 'SUBSCRIBE' ? 'message' : 'smessage');
      return encode([name.toLowerCase(), args[0], connection.channels.size]);
    }
    if (name === 'UNSUBSCRIBE' || name === 'SUNSUBSCRIBE') {
      connection.channels.delete(args[0]);
      return encode([name.toLowerCase(), args[0], connection.channels.size]);
    }
    if (name === 'PING') return connection?.channels.size > 0 ? encode(['pong', '']) : encode({ ok: 'PONG' });
    if (name === 'CLIENT') return encode(OK);
    if (name === 'INFO') return encode(this.#info());
    if (name === 'ROLE') return encode(this.isReplica ? ['slave', '', 0, 'connected', 0] : ['master', 0, []]);
    const reply = this.call([name, ...args], false);
    this.#replicate();
    return encode(reply);
  }

  /** A command, also of a script. Returns the reply as a value. */
  call([command, ...args]) {
    const name = command.toUpperCase();
    const [least, run] = READS[name] ?? WRITES[name] ?? [];
    if (run === undefined) return error(`ERR unknown command '${command}', with args beginning with: `);
    if (args.length < least) return wrongNumber(name);
    if (this.isReplica && name in WRITES)
      return error("READONLY You can't write against a read only replica.");
    try {
      return run(this, ...args);
    } catch (thrown) {
      if (thrown instanceof TypeError_) return WRONG_TYPE;
      throw thrown;
    }
  }

  /** Runs a script of a modelled client in one step. */
  step(run) {
    const reply = run(this);
    this.#replicate();
    return reply;
  }

  #evaluate(name, [script, count, ...args]) {
    let sha = script;
    if (name === 'EVAL') {
      sha = createHash('sha1').update(script).digest('hex');
      this.#scripts.set(sha, script);
    }
    const source = this.#scripts.get(sha);
    if (source === undefined) return encode(error('NOSCRIPT No matching script. Please use EVAL.'));
    const keys = args.slice(0, Number(count));
    const reply = this.runner.run(this, sha, source, keys, args.slice(Number(count)));
    this.#replicate();
    this.world.note(
      this.name,
      keys[0],
      args.slice(Number(count)).join(' ').slice(0, 120),
      '→',
      reply.replaceAll('\r\n', ' '),
    );
    return reply;
  }

  #info() {
    const lines = {
      redis_version: '7.4.0',
      run_id: this.runId,
      loading: 0,
      maxmemory_policy: 'noeviction',
      cluster_enabled: this.cluster === undefined ? 0 : 1,
      role: this.isReplica ? 'slave' : 'master',
      connected_slaves: this.replicas.length,
      ...(this.isReplica && { master_link_status: 'up' }),
    };
    return Object.entries(lines)
      .map(([name, value]) => `${name}:${value}\r\n`)
      .join('');
  }

  // Replication

  #replicate() {
    if (this.#written.size === 0 && this.#published.length === 0) return;
    const batch = {
      entries: [...this.#written].map((key) => [key, this.data.get(key)]),
      published: this.#published,
    };
    this.onWrite?.(batch);
    this.#written = new Set();
    this.#published = [];
    for (const replica of this.replicas) replica.#follow(batch);
  }

  #follow(batch) {
    const { world } = this;
    const source = this.#source;
    const at = Math.max(this.#batchAt + 0.001, world.now + this.lag * (0.5 + world.random.next()));
    this.#batchAt = at;
    this.pending.push(batch);
    const apply = () => {
      if (source !== this.#source) return;
      const { entries, published } = this.pending.shift();
      for (const [key, entry] of entries) {
        if (entry === undefined) this.data.delete(key);
        else this.data.set(key, entry);
      }
      for (const [channel, text] of published) this.#deliver(channel, text);
      this.onCaughtUp?.();
    };
    world.after(at - world.now, apply, this);
  }

  /** Batches on the way to this replica. */
  pending = [];

  /** Follows another server from now on, with its present data. */
  replicateFrom(primary) {
    this.#source += 1;
    this.pending = [];
    this.#batchAt = 0;
    this.isReplica = true;
    this.replicas = [];
    this.data = new Map(primary.data);
    primary.replicas = [this];
    this.#primary = primary;
  }

  /** Becomes a primary. What has not arrived yet is lost, and returned. */
  promote() {
    this.#source += 1;
    if (this.#primary !== undefined) this.#primary.replicas = [];
    this.#primary = undefined;
    this.isReplica = false;
    this.replicas = [];
    return this.pending.splice(0);
  }
}
