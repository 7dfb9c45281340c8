import { ClusterLink, ClusterSite } from './cluster-network.mjs';
import { JavaHolder } from './java-holder.mjs';
import { NetworkStore, Server } from './network.mjs';
import { Office } from './office.mjs';
import { Operators } from './operators.mjs';
import { RedisLink, RedisSite } from './redis-network.mjs';
import { clockIn, VirtualWorld } from './virtual-world.mjs';

/** How late an outcome may be, ms: `LATEST_OUTCOME` of the engine, and what a message between two ticks takes. */
const LATENESS = 46;
/** After a disturbance of its network or its event loop, what a process reports about the store may be wrong for so long, ms. */
const AFTERMATH = 3_000;
const LEASE = 6_000;
/** A caller in line acquires a lock that has been free for so long, ms, though every pushed message about it was lost. */
const LONGEST_FREE = 3_000;

/** What each key is used for: all callers of a key have to use the same limit. */
const KEYS = {
  'exclusive-a': 'exclusive',
  'exclusive-b': 'exclusive',
  shared: 'readers and writers',
  permits: 'permits',
};
/** Redisson has no other locks. */
const JAVA_KEYS = { 'exclusive-a': 'exclusive', 'exclusive-b': 'exclusive', 'exclusive-c': 'exclusive' };
/** Another one, for which hardly anybody asks. */
const QUIET_KEY = 'quiet';
const PERMITS = 3;
/** For how long a key may stay blocked by a hold that no process has, once its process reaches the server again, ms. */
const LONGEST_BLOCKED = 5_000;
/** How long a process whose callers wait may listen at no server that has the lock, ms. */
const LONGEST_DEAF = 1_500;
/** How many owners a session may still remember at rest. */
const MOST_LEFT = 3;

/** Owners that wait for one key. */
const ownersIn = ({ requests }) => (requests instanceof Map ? [...requests.keys()] : []);

const SILENT = { log: () => undefined, warn: () => undefined, error: () => undefined };

/** A violated promise. */
export class Violation extends Error {}

/** A process: an engine with its services and an election, callers that are chosen at random, and a listener that interferes. */
class Process {
  stalledUntil = 0;
  lossOfPushes = 0;
  links = [];
  isClosed = false;
  /** Holds that callers of this process have not released. */
  handles = new Set();
  /** Holds that were broken by force. */
  broken = new Set();
  disturbedUntil = -Infinity;
  /** Until when it stood still the last time. */
  stalledSince = -Infinity;
  /** By key: what holds of callers that waited in line were there, and when last. Those in line know of them. */
  heldHere = new Map();
  /** By key: when a handle of this process was last open. */
  openAt = new Map();
  calls = 0;
  /** Owners whose release, or withdrawal, the store has confirmed. */
  releasedOwners = new Set();
  /** Owners whose hold is gone, as the store has replied. */
  goneOwners = new Set();

  constructor(simulation, name) {
    const { world, library, kind } = simulation;
    Object.assign(this, { simulation, world, name });
    const store = this.storeOf(kind, simulation.servers);
    const clock = clockIn(world, this);
    this.engine = new library.LockEngine(
      store,
      { watchdogTimeout: simulation.lease, shutdownTimeout: 1_000 },
      SILENT,
      clock,
    );
    this.locks = new library.LockService(this.engine, 5_000);
    this.admin = new library.LockAdmin(this.engine);
    // An election never uses locks of one process only, and needs strict order; its module sees to that.
    if (!kind.includes('fallback') && !simulation.isRedisson) this.office = new Office(simulation, this);
    this.locks.events.subscribe((event) => this.onEvent(event));
    world.after(0, () => this.engine.start().then(() => this.office?.election.start()), this);
    // A Cluster is discovered first.
    world.after(simulation.isCluster ? 100 : 10, () => this.callAgain(), this);
  }

  storeOf(kind, servers) {
    const { world, library, isRedis, isRedisson, isCluster } = this.simulation;
    if (isRedis) {
      const Link = isCluster ? ClusterLink : RedisLink;
      const redis = new Link(world, this, servers[0]).client();
      return this.watched(
        isRedisson ? library.redissonStore({ redis }) : new library.RedisLockStore(redis, 'lock:'),
      );
    }
    const stores = servers.map((server) => new NetworkStore(world, library, this, server));
    const whole = kind.includes('quorum') ? new library.QuorumLockStore(stores) : stores[0];
    return kind.includes('fallback') ? new library.FallbackLockStore(whole) : whole;
  }

  /** Its session is kept, to see what it remembers, and the owners are noted that it has released. */
  watched(store) {
    const open = (client) => {
      const session = (this.session = store.open(client));
      const { release, renew } = session;
      session.renew = async (requests) => {
        const replies = await renew.call(session, requests);
        const isGone = (_, index) => replies[index] === 'gone' || replies[index] === 'taken';
        for (const { owner } of requests.filter(isGone)) this.goneOwners.add(owner);
        return replies;
      };
      session.release = (request) => {
        const reply = Promise.resolve(release.call(session, request));
        const released = () => {
          this.releasedOwners.add(request.owner);
          this.simulation.checkReleased(this, request);
        };
        reply.then(released, () => undefined);
        return reply;
      };
      return session;
    };
    return { name: store.name, place: store.place, open };
  }

  /** Those at the servers of a Cluster, or the only one. */
  get sessions() {
    const { session } = this;
    if (session === undefined) return [];
    return session.servers instanceof Map ? [...session.servers.values()] : [session];
  }

  /** Whether its store has queued a caller for the lock. */
  waitsFor(key) {
    const { servers, isRedisson } = this.simulation;
    if (isRedisson) return this.sessions.some(({ waiters }) => waiters.get(key)?.requests.size > 0);
    return servers[0].waitersOf(key).some(({ owner }) => owner.startsWith(`${this.engine.clientId}:`));
  }

  /** Whether the server of the lock has its subscription. */
  hears(key) {
    const [site] = this.simulation.servers;
    const { lock, channel } = site.namesOf(key);
    const isIts = (name) => (channel === undefined ? name.endsWith(this.engine.clientId) : name === channel);
    return [...site.serverFor(lock).connections].some(
      ({ link, channels }) => link?.process === this && [...channels.keys()].some(isIts),
    );
  }

  get isDisturbed() {
    return this.undisturbedSince > this.world.now;
  }

  /** Until when anything may have disturbed what this process knows. */
  get undisturbedSince() {
    return Math.max(this.disturbedUntil, ...this.links.map((link) => link.disturbedUntil));
  }

  /** Whether anything in the process still concerns this owner. */
  knows(owner) {
    return this.engine.tickets.byOwner.has(owner);
  }

  stall(ms) {
    this.world.note(this.name, 'stands still', ms);
    this.stalledUntil = this.stalledSince = Math.max(this.stalledUntil, this.world.now + ms);
    this.disturbedUntil = Math.max(this.disturbedUntil, this.stalledUntil + AFTERMATH);
  }

  noteHeld(key, holds) {
    const own = holds.filter(({ process, call }) => process === this && call.isInLine);
    if (own.length === 0) return;
    const permits = own.reduce((sum, { options }) => sum + (options.permits ?? 1), 0);
    const isShared = own.every(({ options }) => options.mode === 'shared');
    const seen = this.heldHere.get(key) ?? [];
    const at = this.world.now;
    const rest = seen.filter(
      (each) => at - each.at < 20_000 && (each.permits !== permits || each.isShared !== isShared),
    );
    this.heldHere.set(key, [...rest, { at, permits, isShared }]);
  }

  onEvent(event) {
    const { simulation, world } = this;
    if (event.type === 'lost') simulation.lost(this, event);
    if (event.type === 'local') Object.assign(this, { isLocal: event.local, backAt: world.now });
    // A listener may end other holds of its process.
    if (event.type !== 'released' || !world.random.chance(0.05)) return;
    const [other] = [...this.handles].filter(({ key }) => key === event.key);
    if (other !== undefined) this.release(other);
  }

  callAgain() {
    if (this.isClosed || this.simulation.isEnding) return;
    void this.call();
    // Other work of the application: what comes meanwhile is handled in one turn of the event loop.
    if (this.simulation.isRedis && this.world.random.chance(0.2))
      this.stalledUntil = Math.max(this.stalledUntil, this.world.now + this.world.random.between(1, 5));
    const pause =
      this.world.random.between(0, 2) ** 3 * this.world.random.between(1, 12) * this.simulation.pace;
    this.world.after(pause, () => this.callAgain(), this);
  }

  async call() {
    const { random } = this.world;
    if (random.chance(0.02))
      return void this.locks.isLocked(random.pick(this.simulation.busyNames)).catch(() => undefined);
    const { operators, keys, busyNames: names } = this.simulation;
    if (random.chance(operators?.rate ?? 0.003))
      return void (operators === undefined ? this.breakOne() : operators.breakOne(this, names));
    const key = random.pick(names);
    const controller = random.chance(0.1) ? new AbortController() : undefined;
    if (controller !== undefined)
      this.world.after(random.between(0, 60), () => controller.abort(new Error('given up')), this);
    const options = {
      waitTime: random.pick([0, 0, 5, 20, 60, 200, 1_000, 8_000]),
      ...(random.chance(0.2) && { leaseTime: random.pick([10, 20, 100, 1_000]) }),
      ...(controller && { signal: controller.signal }),
      ...this.simulation.optionsFor(key),
    };
    const isFair = options.fair === true;
    if (!isFair && options.waitTime > 0 && random.chance(0.05)) options.retry = {};
    else if (options.waitTime > 0 && random.chance(0.05)) options.maxWaiting = random.pick([0, 1]);
    const many = keys[key] === 'exclusive' && random.chance(0.05);
    await this.acquire(many ? ['exclusive-a', 'exclusive-b'] : key, options);
  }

  /** @param holdTime for how long, ms; a random time if undefined */
  async acquire(key, options, holdTime) {
    const { simulation, world } = this;
    const isInLine = options.waitTime > 0 && options.retry === undefined && options.maxWaiting === undefined;
    const number = (this.calls += 1);
    const call = { process: this, keys: [key].flat(), options, startedAt: world.now, number, isInLine };
    simulation.began(call);
    let handle;
    try {
      handle = await this.locks.acquire(key, options);
    } catch (error) {
      simulation.refused(call, error);
      return;
    } finally {
      simulation.ended(call);
    }
    const hold = {
      call,
      handle,
      keys: call.keys,
      key: call.keys[0],
      process: this,
      options,
      grantedAt: world.now,
    };
    this.handles.add(hold);
    simulation.granted(hold);
    if (simulation.isRedis && options.leaseTime === 1_000 && world.random.chance(0.3)) {
      // Its claim is under way.
      this.world.after(
        2 * world.random.next(),
        () => this.links[0].cut(world.random.between(20, 200)),
        undefined,
      );
      for (const at of [200, 600]) this.extend(hold, at);
      holdTime = world.random.between(1_000, 4_000);
    }
    const limit = world.random.pick([0, 2, 20, 200]);
    world.after(holdTime ?? world.random.between(0, limit), () => this.release(hold), this);
  }

  /** With a longer lease, the hold lasts longer. */
  extend(hold, at) {
    const extended = () => {
      if (!this.handles.has(hold)) return;
      this.world.note(this.name, 'call', hold.call.number, 'extends');
      hold.handle.extend(this.simulation.lease).catch(() => undefined);
    };
    this.world.after(at, extended, this);
  }

  release(hold) {
    if (!this.handles.delete(hold)) return;
    this.world.note(this.name, 'call', hold.call.number, 'releases');
    const wasHeld = hold.handle.isHeld;
    const { world, simulation } = this;
    const at = world.now;
    simulation.noteOpen(hold);
    void hold.handle.release().then((outcome) => simulation.released(hold, outcome, wasHeld, at));
  }

  breakOne(key = this.world.random.pick(this.simulation.busyNames)) {
    this.simulation.brokenAt.set(key, this.world.now);
    this.admin.forceRelease(key).catch(() => undefined);
  }
}

/** Whether holds like these leave no room for a call. */
function excludes(use, options, isShared, permits) {
  if (use === 'permits') return permits + options.permits > PERMITS;
  return !isShared || options.mode !== 'shared';
}

/** One run of several processes, and the checks of what they are told against what the servers know. */
export class Simulation {
  isEnding = false;
  /** By key, on the virtual Redis: when all its holds were broken. */
  brokenAt = new Map();
  #tokens = new Map();
  /** By key: when a process other than this one, or a hold of it, last had the lock or waited for it before others. */
  #busyAt = new Map();
  /** By key: when a server last had a holder, even one that no caller needs. */
  #takenAt = new Map();
  #pending = new Set();
  #refusals = [];
  #orphans = new Map();
  /** By process and key: since when a caller has waited for a message that no server would send. */
  #deafSince = new Map();
  /** Owners that have held something at a server. */
  #holders = new Set();
  outcomes = {};

  /**
   * @param kind `memory`, `quorum`, `fallback`, `fallback quorum`, `redis`, `redis cluster`, `redisson` or `redisson cluster`: the
   *   store that the processes use. Processes of `redisson` share their locks with Java.
   */
  constructor(library, { seed, kind, processes = 3 }) {
    Object.assign(this, { library, kind, seed });
    this.world = new VirtualWorld(seed);
    // Its own process, whose clock starts again.
    library.tokensOfProcess.last = 0;
    // Some runs have crowded locks, others mostly free ones.
    this.pace = this.world.random.pick([1, 3, 10, 30]);
    this.isRedisson = kind.startsWith('redisson');
    this.isRedis = kind.startsWith('redis');
    this.isCluster = kind.endsWith(' cluster');
    this.keys = this.isRedisson ? { ...JAVA_KEYS, [QUIET_KEY]: 'exclusive' } : KEYS;
    this.names = Object.keys(this.keys);
    /** Those for which callers ask at any time. */
    this.busyNames = this.names.filter((name) => name !== QUIET_KEY);
    this.lease = this.isRedis ? this.world.random.pick([LEASE, 30_000, 30_000]) : LEASE;
    this.servers = this.serversOf(kind);
    if (!this.isRedis) this.operators = new Operators(this);
    this.processes = Array.from(
      { length: processes },
      (_, index) => new Process(this, `process ${index + 1}`),
    );
    this.java = this.isRedisson ? ['java 1', 'java 2'].map((name) => new JavaHolder(this, name)) : [];
    this.trouble();
  }

  serversOf(kind) {
    const { world, library } = this;
    if (this.isRedis) {
      const { isRedisson, isCluster } = this;
      const names = isRedisson
        ? new library.RedissonKeyNames('', isCluster)
        : new library.KeyNames('lock:', isCluster);
      const namesOf = (key) => names.of(key);
      const runner = library.scriptRunner;
      if (isCluster) return [new ClusterSite(world, runner, namesOf, library.keySlot)];
      const site = new RedisSite(world, runner, namesOf, world.random.chance(0.3));
      // Redisson's counter is a value like any other.
      site.onLost = (key) => isRedisson && this.#tokens.delete(key);
      return [site];
    }
    const names = kind.includes('quorum') ? ['one', 'two', 'three'] : ['server'];
    // Members of a quorum have similar clocks.
    const isBehind = names.length === 1 && world.random.chance(0.5);
    return names.map((name) => new Server(world, library, name, isBehind));
  }

  optionsFor(key) {
    const { random } = this.world;
    const use = this.keys[key];
    if (use === 'readers and writers') return random.chance(0.7) ? { mode: 'shared' } : {};
    if (use === 'permits') return { limit: PERMITS, permits: random.pick([1, 1, 2]) };
    if (this.isRedisson) return {};
    return random.chance(0.3) ? { fair: true } : {};
  }

  /** @param events how many at least */
  async run(events) {
    while (this.world.events < events) {
      if (!(await this.world.step(Infinity))) break;
      this.check();
      this.throwIfViolated();
    }
    await this.rest();
    this.throwIfViolated();
  }

  /** Something goes wrong now and then; most of the time nothing does, so that false reports are seen. */
  trouble() {
    const { world, processes, servers } = this;
    const { random } = world;
    const happen = () => {
      if (this.isEnding) return;
      const process = random.pick(processes);
      random.weighted([
        [3, () => random.pick(process.links).cut()],
        [1, () => process.links.forEach((link) => link.cut(random.between(500, 8_000)))],
        [2, () => process.stall(random.pick([30, 120, 400, 2_500, 9_000]))],
        [2, () => this.stallServer(random.pick(servers), random.pick([50, 300, 900, 3_000]))],
        [1, () => (process.lossOfPushes = random.pick([0, 0, 0.2]))],
        [4, () => this.rush()],
        [4, () => this.relay()],
        [3, () => process.links.forEach((link) => this.slowDown(link, random.pick([0, 0, 8, 20, 60])))],
        ...(this.isRedis ? [[24, () => this.failover()]] : []),
        ...(this.isRedisson ? [[24, () => this.doubt()]] : []),
      ])();
      world.after(random.between(500, 12_000), happen, undefined);
    };
    world.after(random.between(500, 5_000), happen, undefined);
  }

  /** Something happens to the servers while locks are in demand. */
  failover() {
    const { world, processes } = this;
    const { random } = world;
    const key = random.pick(this.busyNames);
    for (let at = 0; at < 4_000; at += random.between(20, 150)) {
      const process = random.pick(processes);
      const chosen = random.chance(0.8) ? key : random.pick(this.busyNames);
      const options = {
        waitTime: random.pick([60, 200, 1_000, 8_000]),
        ...(random.chance(0.2) && { leaseTime: 1_000 }),
        ...this.optionsFor(chosen),
      };
      const ask = () => process.isClosed || void process.acquire(chosen, options, random.between(5, 300));
      world.after(at, ask, process);
    }
    const trouble = () =>
      this.isEnding || this.servers[0].trouble([...this.names, 'leader'], this.lease, key);
    world.after(random.between(500, 3_000), trouble, undefined);
  }

  /**
   * The connections of a process are lost while it requests a lock because of a message. Then its caller gives up, or it gets the
   * lock, which an operator breaks while it does not listen.
   */
  doubt() {
    const { world, processes } = this;
    const { random } = world;
    const [one, other, third] = random.chance(0.5) ? processes : [...processes].reverse();
    const [link] = one.links;
    const later = (ms, act) => world.after(ms, () => this.isEnding || one.isClosed || act(), undefined);
    const ask = (process, options, holdTime) =>
      world.after(0, () => void process.acquire(QUIET_KEY, options, holdTime), process);
    const breakIt = () => {
      link.cutLate();
      world.after(0, () => other.breakOne(QUIET_KEY), other);
    };
    for (let round = 0; round < 3; round += 1) {
      const at = round * 6_000;
      const givesUp = random.chance(0.5);
      const controller = new AbortController();
      const lose = () => {
        if (givesUp || random.chance(0.5)) link.cutLate();
        if (givesUp) world.after(random.between(0, 30), () => controller.abort(new Error('given up')), one);
        else later(random.between(1_000, 2_000), breakIt);
      };
      later(at, () => ask(other, { waitTime: 500 }, 300));
      later(at + 100, () => ask(one, { waitTime: 2_000, signal: controller.signal }, 4_000));
      if (!givesUp) later(at + 150, () => ask(third, { waitTime: 4_000 }, 20));
      const react = { key: QUIET_KEY, act: () => world.after(random.next(), lose, undefined) };
      later(at + 200, () => (link.reaction = react));
    }
  }

  /** All processes ask for one lock at once; of a quorum, a member may stand still. */
  rush() {
    const { random } = this.world;
    const key = random.pick(this.busyNames);
    if (this.servers.length > 1 && random.chance(0.7))
      this.stallServer(random.pick(this.servers), random.pick([250, 700]));
    for (let burst = 0; burst < 5; burst += 1) {
      for (const process of this.processes) {
        const ask = () => {
          const options = { waitTime: random.pick([5, 20, 60, 200]), ...this.optionsFor(key) };
          if (!process.isClosed) void process.acquire(key, options);
        };
        this.world.after(100 * burst + 2 * random.next(), ask, process);
      }
    }
  }

  /** Callers of one process follow one another on a lock that another process holds: tickets pass from one to the next. */
  relay() {
    const { world, processes } = this;
    const { random } = world;
    const key = random.pick(this.busyNames);
    const [one, other] = random.chance(0.5) ? processes : [...processes].reverse();
    const ask = (process, at, options, holdTime) => {
      const chosen = { ...options, ...this.optionsFor(key) };
      world.after(at, () => process.isClosed || void process.acquire(key, chosen, holdTime), process);
    };
    for (const link of one.links) this.slowDown(link, 8);
    for (let round = 0; round < 8; round += 1) {
      const at = 1_100 + 250 * round;
      ask(other, at, { waitTime: 200 }, 80);
      const controller = new AbortController();
      const leaseTime = random.pick([10, 20]);
      ask(one, at + random.between(10, 50), { waitTime: 200, leaseTime, signal: controller.signal });
      ask(one, at + random.between(20, 80), { waitTime: random.pick([20, 60, 200]) });
      ask(one, at + random.between(40, 80), { waitTime: 200 });
      world.after(at + random.between(60, 120), () => controller.abort(new Error('given up')), one);
    }
  }

  stallServer(server, ms) {
    server.stalledUntil = Math.max(server.stalledUntil, this.world.now + ms);
    for (const link of server.links) link.disturb(ms + AFTERMATH);
  }

  slowDown(link, slowness) {
    link.slowness = slowness;
    // What is under way took the former time.
    link.disturb(1_000);
  }

  /** The largest time of a round trip to a server, ms. */
  roundTrip(process) {
    return Math.max(...process.links.map(({ slowness }) => 2 * (2.2 + 1.5 * slowness)));
  }

  // What the processes are told

  began(call) {
    this.world.note(call.process.name, 'call', call.number, call.keys.join(), JSON.stringify(call.options));
    this.#pending.add(call);
  }

  ended(call) {
    this.#pending.delete(call);
    this.checkLateness(call);
  }

  granted(hold) {
    this.count('granted');
    this.world.note(hold.process.name, 'call', hold.call.number, 'granted', hold.handle.token);
    const { handle, keys, process } = hold;
    this.noteOpen(hold);
    for (const key of keys) {
      const token = handle.tokens.get(key);
      const last = this.#tokens.get(key) ?? 0;
      const isShared = this.keys[key] !== 'exclusive';
      if (!isShared) this.operators?.granted(hold, key);
      if (handle.local) continue;
      if (!isShared && token <= last && !this.wasBroken(hold, key) && !this.isExcused(key))
        this.fail(`${process.name} got the token ${token} of ${key} after ${last}`);
      this.#tokens.set(key, Math.max(token, last));
    }
  }

  released(hold, outcome, wasHeld, at) {
    this.count(outcome);
    const { process, keys } = hold;
    if (!wasHeld || outcome === 'released' || outcome === 'kept' || outcome === 'unknown') return;
    if (this.mayBeLost(hold)) return;
    this.fail(
      `${process.name} released ${keys} while it was held, at ${at.toFixed(1)}, and was told "${outcome}"`,
    );
  }

  lost(process, { key, token, reason }) {
    this.count(`lost: ${reason}`);
    // Readers of a quorum may have equal tokens.
    const isLost = ({ handle }) => handle.tokens.get(key) === token && !handle.isHeld;
    const hold = [...process.handles].find(isLost);
    if (hold !== undefined && reason === 'taken') this.operators?.taken(process, key, hold);
    if (hold === undefined || this.mayBeLost(hold)) return;
    this.fail(`${process.name} lost ${key} (${reason}) though nothing had happened to it`);
  }

  /** Whether anything has happened to the hold since it was granted, or its own `leaseTime` may have passed. */
  mayBeLost(hold) {
    const { process, keys, options, grantedAt } = hold;
    const wasBroken = keys.some((key) => this.wasBroken(hold, key));
    return wasBroken || options.leaseTime !== undefined || process.undisturbedSince > grantedAt;
  }

  /** Whether an unplanned failover has lost writes of the key, so that holds may overlap for a lease. */
  isExcused(key) {
    return this.isRedis && this.servers[0].isExcused(key);
  }

  /** Whether an operator may have ended this hold. */
  wasBroken(hold, key) {
    if (this.operators !== undefined) return this.operators.hasBroken(hold, key);
    const { now } = this.world;
    const { stalledUntil } = hold.process;
    const brokenAt = this.brokenAt.get(key) ?? -Infinity;
    // A process that stands still learns of it afterwards.
    return now - brokenAt < 8_000 || (stalledUntil > brokenAt && now - stalledUntil < 1_000);
  }

  /** The call failed. Judged when the event has ended, so that everything that it brought about is known. */
  refused(call, error) {
    this.world.note(call.process.name, 'call', call.number, 'refused', error.message);
    this.#refusals.push([call, error]);
  }

  /** Was the lock held, was the store unreachable, as the error says? */
  judge(call, error) {
    const { library, world } = this;
    const { process, keys, startedAt, options } = call;
    const { name } = error;
    this.count(name === 'Error' ? 'aborted' : name);
    // What the process itself holds needs no store.
    const isOpen = (key) => (process.openAt.get(key) ?? -Infinity) >= startedAt;
    const isOwn = keys.some(isOpen) || /by this process|which is this process/.test(error.message);
    if (error instanceof library.LockTimeoutError && !isOwn && this.wasDeaf(call)) {
      this.fail(
        `${process.name} was told that ${keys} is held, though the store was unreachable: ${error.message}`,
      );
    }
    const isDisturbed = process.undisturbedSince > startedAt;
    if (isDisturbed) return;
    const since = startedAt - this.roundTrip(process);
    const isBusy = (key) => (this.#busyAt.get(`${key} ${process.name}`) ?? -Infinity) >= since;
    // A caller in line waits until an unused ticket of its own process has left.
    const hasWaited = call.isInLine || error.message.includes('for the whole waitTime');
    const isTaken = (key) => hasWaited && (this.#takenAt.get(key) ?? -Infinity) >= since;
    const wasBusy = keys.some((key) => isBusy(key) || isTaken(key) || this.countPending(process, key) > 0);
    if (error instanceof library.LockTimeoutError && call.isInLine) {
      const freeSince = Math.max(startedAt, ...keys.map((key) => this.#takenAt.get(key) ?? -Infinity));
      const free = world.now - freeSince;
      if (free > LONGEST_FREE)
        this.fail(
          `${process.name} waited for ${keys}, which had been free for ${Math.round(free)} ms: ${error.message}`,
        );
    }
    if (error instanceof library.LockTimeoutError || error instanceof library.LockQueueFullError) {
      // Of several keys, none need have been held.
      const isOutOfTime = keys.length > 1 && error.message.includes('took the whole waitTime');
      if (!wasBusy && !isOutOfTime)
        this.fail(`${process.name} was told that ${keys} is held, which nobody held: ${error.message}`);
    } else if (error instanceof library.LockUnavailableError) {
      const isTooShort =
        options.leaseTime !== undefined && options.leaseTime < 3 * this.roundTrip(process) + 20;
      const isHasty = options.waitTime > 0 && options.waitTime < 2 * this.roundTrip(process) + 10;
      // A call that retries, or only tries, knows no more than its own replies.
      const isToKnow = call.isInLine && this.wasHeldHere(call);
      if (isTooShort || (isHasty && !isToKnow)) return;
      this.fail(
        `${process.name} was told that the store is unavailable for ${keys} (${world.now - startedAt} ms): ${error.message}`,
      );
    }
  }

  /** Whether the store could not tell a caller in line anything: no connection, or no reply for longer than any poll takes. */
  wasDeaf(call) {
    const { process, startedAt, isInLine } = call;
    if (
      !isInLine ||
      this.kind.includes('fallback') ||
      this.wasHeldHere(call) ||
      process.stalledSince > startedAt
    )
      return false;
    const { now } = this.world;
    return (
      process.links.every(({ isCut, cutSince }) => isCut && cutSince < startedAt - 50) ||
      (now - startedAt > 1_500 && process.links.every(({ heardAt }) => heardAt < startedAt))
    );
  }

  /** Whether holds of the same process kept the call waiting: then it knows that the lock was held. */
  wasHeldHere({ process, keys, startedAt, options }) {
    return keys.every((key) => {
      const seen = process.heldHere.get(key);
      return (
        seen !== undefined &&
        seen.some(
          ({ at, isShared, permits }) =>
            at >= startedAt && excludes(this.keys[key], options, isShared, permits),
        )
      );
    });
  }

  checkLateness({ process, startedAt, options: { waitTime }, keys }) {
    const { now } = this.world;
    if (waitTime === 0 || process.undisturbedSince > startedAt) return;
    const late = now - startedAt - waitTime;
    if (late > LATENESS)
      this.fail(
        `the outcome of ${process.name} for ${keys} came ${late.toFixed(1)} ms after waitTime (${waitTime})`,
      );
  }

  // What is true

  /** After each event. */
  check() {
    for (const key of this.names) {
      const holds = this.processes
        .flatMap(({ handles }) => [...handles])
        .filter((hold) => hold.keys.includes(key) && hold.handle.isHeld);
      for (const process of this.processes) process.noteHeld(key, holds);
      const stored = holds.filter(({ handle }) => !handle.local);
      this.operators?.checkFacts(key, stored);
      this.checkExclusion(key, stored);
      this.noteBusy(key, holds);
    }
    this.checkOrphans();
    if (this.isRedis) this.checkListening();
    for (const [call, error] of this.#refusals.splice(0)) {
      this.judge(call, error);
    }
    for (const { office } of this.processes) office?.check(this.servers);
    const leaders = this.processes.filter(({ office }) => office?.leads === true);
    if (leaders.length > 1 && !this.isExcused('leader')) this.fail(`there are ${leaders.length} leaders`);
  }

  checkExclusion(key, all) {
    // The holder of a lock that was broken by force learns of it a little later.
    const holds = all.filter((hold) => !this.wasBroken(hold, key));
    if (this.isExcused(key)) return;
    if (this.isRedis) this.checkFacts(key, holds);
    if (holds.length < 2) return;
    const names = holds.map(({ process, call }) => `${process.name} (call ${call.number})`).join(' and ');
    if (this.keys[key] === 'permits') {
      const permits = holds.reduce((sum, { options }) => sum + options.permits, 0);
      if (permits > PERMITS) this.fail(`${names} hold ${permits} of ${PERMITS} permits`);
      return;
    }
    if (holds.some(({ options }) => options.mode !== 'shared')) this.fail(`${names} hold ${key} together`);
  }

  /** The server has replied to a release: it keeps nothing for the owner, and grants it nothing later. */
  checkReleased(process, { key, owner }) {
    const [server] = this.servers;
    const isHolder = server.holdersOf(key).some((hold) => hold.owner === owner);
    if (isHolder && !server.isBusy)
      this.fail(`${server.name} keeps ${key} for ${owner}, which ${process.name} has released`);
  }

  /** What a process believes to hold is held for it at the primary, which has the last word. */
  checkFacts(key, holds) {
    if (holds.length === 0) return;
    const owners = this.servers[0].holdersOf(key).map(({ owner }) => owner);
    for (const { process, call } of holds) {
      const { clientId } = process.engine;
      if (owners.some((owner) => owner.startsWith(`${clientId}:`))) continue;
      this.fail(
        `${process.name} (call ${call.number}) holds ${key}, which is held by ${owners.join() || 'nobody'}`,
      );
    }
  }

  /** No server keeps a lock for an owner that its process has forgotten, for longer than a withdrawal takes. */
  checkOrphans() {
    const { now } = this.world;
    for (const server of this.servers) {
      for (const key of this.names) {
        for (const { owner } of server.holdersOf(key)) {
          if (this.java.some((java) => java.owner === owner)) continue;
          const id = `${server.name} ${owner}`;
          const process = this.processes.find(({ engine }) => owner.startsWith(`${engine.clientId}:`));
          const isNew = this.isRedis && !this.#holders.has(id);
          if (isNew) this.#holders.add(id);
          if (process === undefined || process.knows(owner.replace(/\.\d+$/, ''))) this.#orphans.delete(id);
          else if (!this.#orphans.has(id)) this.#orphans.set(id, now);
          if (isNew && process?.releasedOwners.has(owner) && !server.isBusy)
            this.fail(`${server.name} grants ${key} to ${owner}, which ${process.name} has withdrawn`);
          const since = this.#orphans.get(id) ?? now;
          const link = process.links.find((each) => each.server === server);
          const freeFrom = this.isRedis
            ? Math.max(server.settledAt, server.stalledUntil, link.troubledUntil, link.upSince) +
              LONGEST_BLOCKED -
              2_200
            : link.disturbedUntil;
          const isBlocked = now - Math.max(since, process.disturbedUntil, freeFrom) >= 2_200;
          // Even a grant that nobody claims ends after two seconds.
          const isGhost = this.isRedis && now - Math.max(since, process.undisturbedSince) > 1_000;
          if (!isBlocked && !isGhost) continue;
          this.fail(
            `${server.name} has kept ${key} for ${process.name} since ${since.toFixed(1)}, which has forgotten it`,
          );
        }
      }
    }
  }

  /** A process whose callers wait listens at the server that has the lock, so that it learns at once that the lock is free. */
  checkListening() {
    const { now } = this.world;
    for (const process of this.processes) {
      for (const key of this.names) {
        const id = `${key} ${process.name}`;
        if (!process.waitsFor(key) || process.hears(key)) {
          this.#deafSince.delete(id);
          continue;
        }
        if (!this.#deafSince.has(id)) this.#deafSince.set(id, now);
        const since = Math.max(this.#deafSince.get(id), process.undisturbedSince);
        if (now - since > LONGEST_DEAF)
          this.fail(`${process.name} waits for ${key}, but has not listened since ${since.toFixed(1)}`);
      }
    }
  }

  /** A hold begins or ends: others may begin and end in the same event. */
  noteOpen({ process, keys }) {
    for (const key of keys) {
      process.openAt.set(key, this.world.now);
      this.#busyAt.set(`${key} ${process.name}`, this.world.now);
    }
  }

  /** Whether a caller of each process finds the lock taken: by a hold, or by another process at a server. */
  noteBusy(key, holds) {
    const { now } = this.world;
    if (this.servers.some((server) => server.holdersOf(key).length > 0)) this.#takenAt.set(key, now);
    for (const process of this.processes) {
      const { clientId } = process.engine;
      const isOther = ({ owner }) => !owner.startsWith(`${clientId}:`);
      // A handle ends a little before the lease that it can rely on.
      const isPart = (call) => call.process === process && call.keys.length > 1;
      const isOpen = [...process.handles, ...[...this.#pending].filter(isPart)].some(({ keys }) =>
        keys.includes(key),
      );
      if (isOpen) process.openAt.set(key, now);
      const isBusy =
        isOpen ||
        holds.length > 0 ||
        this.servers.some(
          (server) => server.holdersOf(key).some(isOther) || server.waitersOf(key).some(isOther),
        ) ||
        this.countPending(process, key) > 1;
      if (isBusy) this.#busyAt.set(`${key} ${process.name}`, now);
    }
  }

  countPending(process, key) {
    let count = 0;
    for (const call of this.#pending) if (call.process === process && call.keys.includes(key)) count += 1;
    return count;
  }

  /** Everything is released, and the network is well: then every lock is free, and no process knows or keeps anything. */
  async rest() {
    const { world, processes, servers } = this;
    this.isEnding = true;
    const release = () => {
      for (const process of processes) for (const hold of [...process.handles]) process.release(hold);
    };
    for (const place of [...processes, ...servers, ...this.java]) place.stalledUntil = 0;
    for (const { links } of processes) {
      for (const link of links) {
        this.slowDown(link, 0);
        link.disturb(AFTERMATH);
      }
    }
    const end = world.now + 14_000 + this.lease;
    // Leases that nobody renews end, even if nothing else happens.
    world.after(end - world.now, () => undefined, undefined);
    while (world.now < end && (await world.step(end))) {
      this.check();
      this.throwIfViolated();
      release();
    }
    for (const server of servers) {
      for (const key of this.names) {
        const holders = server.holdersOf(key);
        if (holders.length > 0) this.fail(`at rest ${holders[0].owner} holds ${key} on ${server.name}`);
        if (server.waitersOf(key).length > 0) this.fail(`at rest ${key} has waiters on ${server.name}`);
      }
    }
    for (const process of processes) this.checkMemory(process);
    if (this.#pending.size > 0) this.fail(`${this.#pending.size} calls have no outcome`);
    // A candidate whose methods have thrown several times in a row pauses for longer.
    const isIdle = ({ office }) => office !== undefined && !office.leads && !office.election.hasFailed;
    if (processes.every(isIdle)) this.fail('at rest nobody leads');
  }

  /**
   * At rest, a session remembers hardly any owner that its engine has forgotten, or its memory grows without bound: a
   * doubtful one may be kept for a minute, and until there is another. It remembers none whose hold is gone, and no turn.
   */
  checkMemory(process) {
    const { engine } = process;
    const isLeft = (owner) => String(owner).startsWith(`${engine.clientId}:`) && !process.knows(owner);
    for (const place of process.sessions.flatMap((session) => [session, session.pushed ?? {}])) {
      for (const [name, value] of Object.entries(place)) {
        if (!(value instanceof Map || value instanceof Set)) continue;
        const owners = [...value.keys(), ...[...value.values()].flatMap(ownersIn)];
        const left = owners.filter(isLeft);
        // The server that had the slot is not told.
        const isDoubt = name === 'inDoubt' && !this.isCluster;
        const isEnded = (owner) => name === 'turns' || (isDoubt && process.goneOwners.has(owner));
        if (left.length > MOST_LEFT || left.some(isEnded))
          this.fail(`at rest the session of ${process.name} remembers ${left.length} owners (${name})`);
      }
    }
  }

  throwIfViolated() {
    if (this.violation !== undefined) throw this.violation;
  }

  count(outcome) {
    this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + 1;
  }

  fail(what) {
    if (process.env.IGNORE && new RegExp(process.env.IGNORE).test(what)) return;

    this.violation ??= new Violation(what);
  }
}
