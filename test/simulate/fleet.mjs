import { RedisLink } from './redis-network.mjs';
import { RedisServer } from './virtual-redis.mjs';
import { clockIn, VirtualWorld } from './virtual-world.mjs';

/** What the server needs for a request, ms: for any command, for a script besides, and for each key of a script. */
const COMMAND_MS = 0.003;
const SCRIPT_MS = 0.008;
const KEY_MS = 0.002;

/** One way through the network, ms. */
const LEAST_DELAY = 0.1;
const MORE_DELAY = 0.4;

/** Length of the time slots in which requests are counted, ms. */
const SLOT = 10;
/** How long Redis is down in a restart, ms. */
const OUTAGE = 1_000;
/** How long Redis stands still without a lost connection, ms. */
const STANDSTILL = 1_500;
/** In what time all processes are replaced, or as many are added, ms. */
const ROLLOUT = 10_000;
/** How long the steady state is measured, and what follows a fault, ms. */
const STEADY = 3_000;
const AFTERWARDS = 6_000;
/** In a time of this length, requests and holds are as many as before the fault: then the fleet is calm again, ms. */
const CALM_WINDOW = 500;

/** In 100 ms no more than this many times the requests of a steady 100 ms: then there is no stampede. */
export const MOST_AT_ONCE = 5;

const SILENT = { log: () => undefined, warn: () => undefined, error: () => undefined };

/**
 * What the callers of a fleet do. `thinkTime`: of a caller between two calls, ms on average; `holdTime`: ms.
 */
export const LOADS = {
  'one key': {
    keyFor: () => 'hot',
    thinkTime: 200_000,
    holdTime: 2,
    waitTime: 60_000,
    firstCalls: 6,
    warmUp: 6_000,
  },
  '10,000 keys': {
    keyFor: (random) => `key:${random.between(1, 10_000)}`,
    thinkTime: 100_000,
    holdTime: 50,
    waitTime: 30_000,
    warmUp: 4_000,
  },
  semaphore: {
    keyFor: () => 'permits',
    options: { limit: 100 },
    thinkTime: 200_000,
    holdTime: 180,
    waitTime: 30_000,
    warmUp: 4_000,
  },
  election: { warmUp: 4_000 },
};

/**
 * The loads of row M16 of the benchmark: callers that call again at once, see `bench/rows/m16-fleets.mjs`. `keyOf`: of a
 * caller's turn.
 */
export const CLOSED_LOADS = {
  'own keys': { keyOf: (caller, turn) => `${caller}:${turn % 100}`, holdTime: 0, warmUp: 100, time: 60 },
  '100 keys': { keyOf: (caller, turn) => `${(caller + turn) % 100}`, holdTime: 0, warmUp: 200, time: 200 },
  'one key': { keyOf: () => 'hot', holdTime: 0, warmUp: 200, time: 200 },
  'one key, 2 ms': { keyOf: () => 'hot', holdTime: 2, warmUp: 1_000, time: 3_000 },
};

/** Counts what arrives at the server, and what callers get, in slots of 10 ms. */
class Meter {
  #slots = [];

  /** @param nameOf the name of a command, or of the script that it runs */
  constructor(world, nameOf) {
    Object.assign(this, { world, nameOf });
  }

  get #now() {
    return (this.#slots[Math.floor(this.world.now / SLOT)] ??= {});
  }

  add(what, count = 1) {
    const slot = this.#now;
    slot[what] = (slot[what] ?? 0) + count;
  }

  /** Keeps the largest value. */
  note(what, value) {
    const slot = this.#now;
    slot[what] = Math.max(slot[what] ?? 0, value);
  }

  received(commands) {
    this.add('commands', commands.length);
    for (const command of commands) {
      if (isScript(command)) this.add('requests');
      this.add(this.nameOf(command));
    }
  }

  #slotsBetween(from, to) {
    return this.#slots.slice(Math.floor(from / SLOT), Math.floor(to / SLOT));
  }

  count(what, from, to) {
    return this.#slotsBetween(from, to).reduce((sum, slot) => sum + (slot?.[what] ?? 0), 0);
  }

  largest(what, from, to) {
    return this.#slotsBetween(from, to).reduce((most, slot) => Math.max(most, slot?.[what] ?? 0), 0);
  }

  /** The most in any time of this length. */
  peak(what, from, to, length) {
    const counts = Array.from(this.#slotsBetween(from, to), (slot) => slot?.[what] ?? 0);
    const size = length / SLOT;
    let [sum, most] = [0, 0];
    for (let at = 0; at < counts.length; at += 1) {
      sum += counts[at] - (at >= size ? counts[at - size] : 0);
      most = Math.max(most, sum);
    }
    return most;
  }

  /** What was counted in this time, by name. */
  names(from, to) {
    const total = {};
    for (const slot of this.#slotsBetween(from, to))
      for (const [what, count] of Object.entries(slot ?? {})) total[what] = (total[what] ?? 0) + count;
    return total;
  }
}

const isScript = ([name]) => /^EVAL/i.test(name);

/** The connections of a process; nothing goes wrong but what the fleet does. */
class FleetLink extends RedisLink {
  isCalm = true;

  target() {
    return this.site.primary;
  }

  delay() {
    return LEAST_DELAY + this.world.random.next() * MORE_DELAY;
  }
}

class CountedConnections extends Set {
  constructor(meter) {
    super();
    this.meter = meter;
  }

  add(connection) {
    this.meter.add('connections');
    this.meter.received([['HELLO']]);
    return super.add(connection);
  }
}

/** A server that serves one request after another, each of which takes its time. */
class FleetServer extends RedisServer {
  #isFreeAt = 0;
  /** By channel: who subscribed to it, as far as is known. */
  #listeners = new Map();

  constructor(world, runner, name, meter) {
    super(world, runner, name);
    this.meter = meter;
    this.connections = new CountedConnections(meter);
  }

  receive(connection, commands) {
    if (this.isDown) return;
    const { world, meter } = this;
    meter.received(commands);
    const start = Math.max(this.#isFreeAt, world.now);
    this.#isFreeAt = start + commands.reduce((sum, command) => sum + serviceTime(command), 0);
    meter.note('longest queue', this.#isFreeAt - world.now);
    if (start === world.now) super.receive(connection, commands);
    else world.after(this.#isFreeAt - world.now, () => super.receive(connection, commands), this);
  }

  /** Thousands of waiters are not copied for each request, unless a replica shares the value. */
  draft(key, type) {
    return (this.replicas.length === 0 && this.read(key, type)) || super.draft(key, type);
  }

  listeners(channel) {
    const known = this.#listeners.get(channel);
    if (this.connections.has(known) && known.channels.has(channel)) return [known];
    const found = super.listeners(channel);
    if (found.length > 0) this.#listeners.set(channel, found[0]);
    return found;
  }
}

function serviceTime(command) {
  return isScript(command) ? COMMAND_MS + SCRIPT_MS + KEY_MS * Number(command[2]) : COMMAND_MS;
}

/** One address, and the server behind it. */
class FleetSite {
  links = [];
  isSentinel = false;
  #count = 0;

  constructor(world, runner, meter) {
    Object.assign(this, { world, runner, meter });
    this.primary = this.another();
  }

  another() {
    this.#count += 1;
    return new FleetServer(this.world, this.runner, `redis ${this.#count}`, this.meter);
  }

  /** The server ends, and so do its connections. For a while none is accepted. */
  stop() {
    const { primary, world } = this;
    primary.isDown = true;
    for (const connection of [...primary.connections])
      world.after(connection.link.delay(), () => connection.cut(0), connection.link.process);
  }

  /** Another server at the same address. */
  start(data, server = this.another()) {
    server.data = new Map(data);
    this.primary = server;
  }
}

/** A process: its engine, and its callers, each of which calls, holds, and thinks. */
class FleetProcess {
  stalledUntil = 0;
  links = [];
  isEnding = false;
  #idle = 0;
  #isNextDue = false;

  constructor(fleet, name) {
    const { world, library, site } = fleet;
    Object.assign(this, { fleet, world, name });
    // The virtual server does not know HELLO.
    const redis = new FleetLink(world, this, site).client({ protocol: 2 });
    const clock = clockIn(world, this);
    const settings = { watchdogTimeout: 30_000, shutdownTimeout: 5_000 };
    this.engine = new library.LockEngine(new library.RedisLockStore(redis, 'lock:'), settings, SILENT, clock);
    this.locks = new library.LockService(this.engine, 5_000);
    if (fleet.isElection) {
      this.election = new library.LeaderElection('leader', 'election', this.locks, SILENT);
      this.election.leadership$.subscribe(({ type }) => fleet.meter.add(type));
    }
  }

  start() {
    const { fleet, world } = this;
    const { load, callers } = fleet;
    const started = async () => {
      await this.engine.start();
      this.election?.start();
      if (load.keyOf !== undefined)
        for (let count = 0; count < callers; count += 1) void this.#callAgain(fleet.nextCaller());
      if (load.keyFor === undefined) return;
      this.#idle = callers;
      for (let count = load.firstCalls ?? 0; count > 0; count -= 1) void this.#call();
      this.#callNext();
    };
    world.after(0, () => void started(), this);
  }

  /** Shuts down as after SIGTERM: calls in flight may end first. */
  async stop() {
    this.isEnding = true;
    await this.election?.stop();
    await this.engine.close();
  }

  /** A caller that calls again at once. */
  async #callAgain(caller) {
    const { fleet, world } = this;
    const { keyOf, holdTime } = fleet.load;
    const held = () => {
      fleet.meter.add('holds');
      return holdTime > 0 ? new Promise((resolve) => world.after(holdTime, resolve, this)) : undefined;
    };
    for (let turn = 0; !this.isEnding; turn += 1)
      await this.locks.withLock(keyOf(caller, turn), { waitTime: Infinity }, held);
  }

  #callNext() {
    if (this.#isNextDue || this.#idle === 0 || this.isEnding) return;
    this.#isNextDue = true;
    const ms = (-Math.log(1 - this.world.random.next()) * this.fleet.load.thinkTime) / this.#idle;
    const due = () => {
      this.#isNextDue = false;
      if (this.#idle > 0 && !this.isEnding) void this.#call();
      this.#callNext();
    };
    this.world.after(ms, due, this);
  }

  async #call() {
    const { fleet, world } = this;
    const { meter, load } = fleet;
    const { keyFor, options, waitTime, holdTime } = load;
    this.#idle -= 1;
    const calledAt = world.now;
    try {
      const handle = await this.locks.acquire(keyFor(world.random), { waitTime, ...options });
      meter.add('holds');
      meter.note('longest wait', world.now - calledAt);
      const release = () => {
        void handle.release();
        this.#idle += 1;
        this.#callNext();
      };
      world.after(holdTime, release, this);
    } catch (error) {
      if (this.isEnding) return;
      meter.add(error.name);
      meter.note('longest wait', world.now - calledAt);
      this.#idle += 1;
      this.#callNext();
    }
  }
}

/** Processes of one application with one Redis, in virtual time. */
export class Fleet {
  processes = [];
  #count = 0;
  #callers = 0;

  /** @param load of `LOADS` or `CLOSED_LOADS` */
  constructor(library, { seed, processes, callers, load }) {
    Object.assign(this, { library, callers, load, isElection: load === LOADS.election });
    this.world = new VirtualWorld(seed);
    this.world.note = () => undefined;
    library.tokensOfProcess.last = 0;
    this.meter = new Meter(this.world, library.nameOf);
    this.site = new FleetSite(this.world, library.scriptRunner, this.meter);
    this.size = processes;
  }

  add() {
    this.#count += 1;
    const process = new FleetProcess(this, `process ${this.#count}`);
    this.processes.push(process);
    process.start();
  }

  nextCaller() {
    this.#callers += 1;
    return this.#callers - 1;
  }

  /** Something happens at so many moments, spread at random over a time. */
  spread(count, ms, happen) {
    for (let index = 0; index < count; index += 1)
      this.world.after(this.world.random.next() * ms, () => happen(index), undefined);
  }

  async advance(ms) {
    const { world } = this;
    const until = world.now + ms;
    while (await world.step(until));
    world.now = until;
  }

  async warmUp() {
    const { warmUp } = this.load;
    this.spread(this.size, Math.min(warmUp / 2, 2_000), () => this.add());
    await this.advance(warmUp);
  }
}

/** Requests per hold, and holds per second, of callers that call again at once. */
export async function measureClosed(fleet) {
  const { world, meter, load } = fleet;
  await fleet.warmUp();
  const from = world.now;
  await fleet.advance(load.time);
  const holds = meter.count('holds', from, world.now);
  return {
    holdsPerSecond: (holds / load.time) * 1_000,
    requestsPerHold: meter.count('requests', from, world.now) / holds,
  };
}

/** Redis ends, and another server is at its address later. */
async function restart(fleet, data, outage, server) {
  fleet.site.stop();
  await fleet.advance(outage);
  fleet.site.start(data, server);
}

/** The replica is promoted, with what it has got. */
async function failOver(fleet) {
  const { site } = fleet;
  const replica = site.another();
  replica.replicateFrom(site.primary);
  await fleet.advance(500);
  replica.promote();
  await restart(fleet, replica.data, 3_000, replica);
}

/** Redis replies to nothing for a while, shorter than a request may take. */
async function standStill(fleet) {
  const { site, world } = fleet;
  site.primary.stalledUntil = world.now + STANDSTILL;
  await fleet.advance(STANDSTILL);
}

async function replaceProcesses(fleet) {
  const old = fleet.processes.splice(0);
  fleet.spread(old.length, ROLLOUT, (index) => {
    void old[index].stop();
    fleet.add();
  });
  await fleet.advance(ROLLOUT);
}

async function addProcesses(fleet) {
  fleet.spread(fleet.size, ROLLOUT, () => fleet.add());
  await fleet.advance(ROLLOUT);
}

/** What happens to a fleet. Each resolves when it is over. */
export const FAULTS = {
  'short restart': (fleet) => restart(fleet, fleet.site.primary.data, 100),
  'restart with data': (fleet) => restart(fleet, fleet.site.primary.data, OUTAGE),
  'restart without data': (fleet) => restart(fleet, [], OUTAGE),
  standstill: standStill,
  failover: failOver,
  'rolling restart': replaceProcesses,
  'twice as many': addProcesses,
};

/** What a fault does to a fleet in its steady state. */
export async function measure(fleet, fault) {
  const { world, meter } = fleet;
  const from = world.now;
  await fleet.advance(STEADY);
  const begin = world.now;
  const sizeBefore = fleet.processes.length;
  await FAULTS[fault](fleet);
  const over = world.now;
  await fleet.advance(AFTERWARDS);
  const end = world.now;
  const rate = (what) => meter.count(what, from, begin) / STEADY;
  const holds = rate('holds');
  const ratio = (what) => meter.peak(what, begin, end, 100) / 100 / rate(what);
  const growth = fleet.processes.length / sizeBefore;
  const isUnlike = (what, at) => {
    const expected = rate(what) * growth * CALM_WINDOW;
    const tolerance = Math.max(0.5 * expected, 4 * Math.sqrt(expected));
    return Math.abs(meter.count(what, at, at + CALM_WINDOW) - expected) > tolerance;
  };
  let calmAt = over;
  for (let at = over; at + CALM_WINDOW <= end; at += CALM_WINDOW / 5)
    if (isUnlike('requests', at) || isUnlike('holds', at)) calmAt = at + CALM_WINDOW;
  return {
    fault,
    requestsPerSecond: rate('requests') * 1_000,
    holdsPerSecond: holds * 1_000,
    requestsPerHold: rate('requests') / holds,
    peak: ratio('requests'),
    peakOfCommands: ratio('commands'),
    longestWaits: [meter.largest('longest wait', from, begin), meter.largest('longest wait', begin, end)],
    failed: Object.entries(meter.names(begin, end)).flatMap(([what, count]) =>
      what.endsWith('Error') ? [`${what} ${count}`] : [],
    ),
    connections: meter.peak('connections', begin, end, 1_000),
    longestQueue: meter.largest('longest queue', begin, end),
    calmAfter: calmAt === over ? 0 : calmAt >= end - CALM_WINDOW ? Infinity : calmAt - over,
    times: { from, begin, over, end },
  };
}
