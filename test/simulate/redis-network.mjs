import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { decodeCommands, RedisServer } from './virtual-redis.mjs';

const { Redis } = createRequire(import.meta.url)('ioredis');

/** Between two messages of one connection, so that they stay in order, ms. */
const IN_ORDER = 0.001;
/** How long a process may be disturbed after its connections are up again, ms. */
export const AFTERMATH = 6_000;

/** How long a process takes to notice that its connection for requests is half open, ms: a reply is overdue. */
const LONGEST_UNNOTICED = 2_000;

const failure = (code) => Object.assign(new Error(`connect ${code}`), { code });

/** The socket of a client of ioredis, and what the server knows of it. */
class Connection extends EventEmitter {
  connecting = true;
  writable = true;
  destroyed = false;
  /** By channel: the kind of its messages. */
  channels = new Map();
  /** Nothing arrives any more, which neither side knows. */
  isHalfOpen = false;
  #isOpenAtServer = false;
  #arrivals = { requests: 0, replies: 0 };
  #underWay = { requests: [], replies: [] };
  #timer;

  constructor(link, server, connector) {
    super();
    Object.assign(this, { link, server, connector, world: link.world });
    this.on('error', () => undefined);
    const opened = () => {
      if (this.destroyed) return;
      if (link.isOutOfReach || server.isSilent) return; // connectTimeout ends it
      if (server.isDown) {
        this.destroy(failure('ECONNREFUSED'));
        return;
      }
      this.connecting = false;
      this.#isOpenAtServer = true;
      server.connections.add(this);
      link.connections.add(this);
      this.emit('connect');
    };
    this.world.after(2 * link.delay(), opened, link.process);
  }

  get isForRequests() {
    return this.connector.isForRequests;
  }

  setNoDelay() {}
  setKeepAlive() {}
  resume() {}

  setTimeout(ms, callback) {
    if (this.#timer !== undefined) this.#timer.isCleared = true;
    if (ms > 0) this.#timer = this.world.after(ms, callback, this.link.process);
  }

  write(chunk) {
    const commands = decodeCommands(chunk.toString('latin1'));
    // Its reply is missed before the process learns anything.
    if (this.isHalfOpen) this.link.disturb(LONGEST_UNNOTICED + 1_500);
    this.link.reactTo(commands);
    if (commands.some(([name]) => /^s?subscribe$/i.test(name))) this.connector.isForRequests = false;
    const arrive = () => {
      if (this.#isOpenAtServer && !this.isHalfOpen) this.server.receive(this, commands);
    };
    this.#send('requests', this.server, arrive);
    return true;
  }

  /** What the server sends. */
  reply(text) {
    const arrive = () => {
      if (this.destroyed || this.isHalfOpen) return;
      if (this.isForRequests) this.link.heard(this);
      this.emit('data', Buffer.from(text, 'latin1'));
    };
    this.#send('replies', this.link.process, arrive);
  }

  unsubscribed(_, text) {
    this.reply(text);
  }

  push(text) {
    const { random } = this.world;
    if (this.isHalfOpen) this.link.disturb(3_500);
    const { reaction } = this.link;
    if (reaction !== undefined && text.includes(reaction.key)) reaction.isDue = true;
    // What it brings about is then in doubt.
    if (!this.link.isCalm && random.chance(0.02)) {
      const outage = random.between(5, 100);
      this.world.after(5 * random.next(), () => this.link.cut(outage), undefined);
    }
    this.reply(text);
  }

  /** In order, also if the place stands still for a while and then has many events at once. */
  #send(direction, place, arrive) {
    const { now } = this.world;
    const at = Math.max(this.#arrivals[direction] + IN_ORDER, now + this.link.delay());
    this.#arrivals[direction] = at;
    const underWay = this.#underWay[direction];
    underWay.push(arrive);
    this.world.after(at - now, () => underWay.shift()?.(), place);
  }

  /** The client has nothing more to send. */
  end() {
    if (!this.writable) return;
    this.writable = false;
    if (this.connecting) {
      this.destroy();
      return;
    }
    const arrive = () => {
      if (this.isHalfOpen || this.server.isDown) return; // disconnectTimeout ends it
      this.#forget();
      this.#send('replies', this.link.process, () => this.destroy());
    };
    this.#send('requests', this.server, arrive);
  }

  /** The client has closed its end, or learns that it is closed. */
  destroy(error, hasLateRequests = false) {
    if (this.destroyed) return;
    this.destroyed = true;
    this.writable = false;
    this.setTimeout(0);
    this.link.connections.delete(this);
    if (this.isForRequests) this.link.lost(this);
    if (this.#isOpenAtServer && !hasLateRequests) {
      // The server learns of a connection that is half open when it tests it.
      const ms = this.isHalfOpen ? this.world.random.between(5_000, 60_000) : this.link.delay();
      this.world.after(ms, () => this.#forget(), this.server);
    }
    const closed = () => {
      if (error !== undefined) this.emit('error', error);
      this.emit('close', error !== undefined);
    };
    this.world.after(0, closed, this.link.process);
  }

  /**
   * Both ends are cut. Some of the requests under way still arrive, in their order and perhaps late, though no reply does.
   *
   * @param latest how late, ms
   */
  cut(latest = this.world.random.pick([0, 5, 50, 500, 3_000])) {
    if (this.destroyed) return;
    const { random } = this.world;
    const { requests } = this.#underWay;
    const kept = requests.splice(0).slice(0, random.between(0, 3));
    const arrive = () => {
      for (const request of kept) request();
      this.#forget();
    };
    this.world.after(latest + random.next(), arrive, this.server);
    this.destroy(failure('ECONNRESET'), true);
  }

  /** The server has closed it. */
  closedByServer() {
    this.#forget();
    this.#send('replies', this.link.process, () => this.destroy());
  }

  #forget() {
    this.#isOpenAtServer = false;
    this.server.connections.delete(this);
  }
}

/** The connections of a process to the servers behind one address. */
export class RedisLink {
  connections = new Set();
  slowness = 0;
  /** Whether nothing goes wrong by chance. */
  isCalm = false;
  disturbedUntil = -Infinity;
  /** Whether the connection for requests is down, since when, and when something was last received on it. */
  isCut = false;
  cutSince = -Infinity;
  heardAt = 0;
  /** Since when it is up. */
  upSince = -Infinity;
  /** Until when it may be down. */
  troubledUntil = -Infinity;
  /** Until when nothing of this process arrives. */
  outOfReachUntil = -Infinity;
  /** Until when new connections lead to the former primary, though there is another. */
  outdatedUntil = -Infinity;
  /** `{ key, act }`: called once, when the process requests a lock after a message about it was sent. */
  reaction;

  constructor(world, process, site) {
    Object.assign(this, { world, process, server: site, site });
    site.links.push(this);
    process.links.push(this);
  }

  /**
   * A client of the user, as the library gets it.
   *
   * @param options more options of ioredis
   */
  client(options = {}) {
    let clients = 0;
    // The library duplicates the user's client for its requests first.
    const Connector = this.connectors(() => (clients += 1) === 2);
    const sentinels = { sentinels: [{ host: 'sentinel' }], name: 'virtual' };
    return new Redis({
      host: 'redis',
      lazyConnect: true,
      Connector,
      ...(this.site.isSentinel && sentinels),
      ...options,
    });
  }

  /**
   * How ioredis gets its sockets.
   *
   * @param isForRequests whether the client with these options sends requests
   */
  connectors(isForRequests) {
    const link = this;
    return class Connector {
      connecting = false;

      constructor(options) {
        this.options = options;
        this.isForRequests = isForRequests(options);
      }

      check() {
        return true;
      }

      connect() {
        this.connecting = true;
        this.stream = new Connection(link, link.target(this.options), this);
        return Promise.resolve(this.stream);
      }

      disconnect() {
        this.connecting = false;
        const { stream } = this;
        if (stream === undefined) return;
        link.world.after(this.options.disconnectTimeout, () => stream.destroy(), link.process);
        stream.end();
      }
    };
  }

  get isOutOfReach() {
    return this.outOfReachUntil > this.world.now;
  }

  target() {
    const { former, primary } = this.site;
    return this.outdatedUntil > this.world.now ? former : primary;
  }

  delay() {
    const { random } = this.world;
    return 0.2 + random.next() * 2 + this.slowness * (0.5 + random.next());
  }

  heard() {
    if (this.isCut) this.upSince = this.world.now;
    this.isCut = false;
    this.heardAt = this.world.now;
  }

  lost() {
    if ([...this.connections].some(({ isForRequests }) => isForRequests)) return;
    if (!this.isCut) this.cutSince = this.world.now;
    this.isCut = true;
  }

  reactTo(commands) {
    const { reaction } = this;
    if (reaction?.isDue !== true || !commands.some((args) => args.includes(reaction.key))) return;
    this.reaction = undefined;
    reaction.act();
  }

  disturb(ms) {
    this.disturbedUntil = Math.max(this.disturbedUntil, this.world.now + ms);
  }

  /** Some or all connections are cut or become half open, and for a while no new ones are made. */
  cut(outage = this.world.random.between(20, 1_500)) {
    const { world } = this;
    const { random } = world;
    const isHalfOpen = random.chance(0.3);
    world.note(this.process.name, isHalfOpen ? 'has half-open connections' : 'was cut', outage);
    if (random.chance(0.7)) this.outOfReachUntil = Math.max(this.outOfReachUntil, world.now + outage);
    for (const connection of [...this.connections]) {
      if (random.chance(0.2)) continue;
      if (isHalfOpen) connection.isHalfOpen = true;
      else connection.cut();
    }
    this.troubledUntil = Math.max(this.troubledUntil, world.now + outage + LONGEST_UNNOTICED);
    this.disturb(outage + AFTERMATH);
  }

  /** All connections are cut, and requests under way arrive late, after the process is connected again. */
  cutLate() {
    const { world } = this;
    world.note(this.process.name, 'was cut, and its requests are late');
    for (const connection of [...this.connections]) connection.cut(world.random.pick([500, 3_000]));
    this.troubledUntil = Math.max(this.troubledUntil, world.now + LONGEST_UNNOTICED);
    this.disturb(AFTERMATH);
  }

  /** Sentinel has named another primary. */
  told() {
    for (const { connector } of [...this.connections]) connector.disconnect();
  }
}

export function holdersAt(server, { lock }) {
  const hash = server.find(lock)?.value ?? new Map();
  const isGood = ([field, value]) => {
    const [ends] = value.split(' ');
    return field.includes(':') && (!value.includes(' ') || Number(ends) > server.millis);
  };
  return [...hash].filter(isGood).map(([owner]) => ({ owner }));
}

export function waitersAt(server, { waiters }) {
  const hash = (waiters && server.find(waiters)?.value) ?? new Map();
  return [...hash]
    .filter(([, record]) => Number(record.split(' ')[0]) >= server.millis)
    .map(([owner]) => ({ owner }));
}

/** A primary and its replica behind one address, or found by Sentinel, and their failovers. */
export class RedisSite {
  name = 'redis';
  links = [];
  /** Fail over: nothing else goes wrong with the servers meanwhile. */
  isBusy = false;
  /** Until when grants of a key may overlap, since an unplanned failover has lost writes of it. */
  excusedUntil = new Map();
  /** The keys whose writes are being lost. */
  #losing;
  /** When the last failover was over, for all processes. */
  settledAt = -Infinity;

  /** @param namesOf the names of a key's lock and waiters */
  constructor(world, runner, namesOf, isSentinel) {
    Object.assign(this, { world, namesOf, isSentinel });
    this.primary = new RedisServer(world, runner, 'redis 1');
    this.replica = new RedisServer(world, runner, 'redis 2');
    this.replica.replicateFrom(this.primary);
    this.former = this.primary;
  }

  get servers() {
    return [this.primary, this.replica];
  }

  /** The server that serves requests about a lock. */
  serverFor() {
    return this.primary;
  }

  get stalledUntil() {
    return this.primary.stalledUntil;
  }

  set stalledUntil(time) {
    this.primary.stalledUntil = time;
    if (time === 0) this.replica.stalledUntil = 0;
  }

  holdersOf(key) {
    return holdersAt(this.primary, this.namesOf(key));
  }

  waitersOf(key) {
    return waitersAt(this.primary, this.namesOf(key));
  }

  isExcused(key) {
    return this.#losing?.has(key) || (this.excusedUntil.get(key) ?? -Infinity) > this.world.now;
  }

  /** Something goes wrong with the servers. */
  trouble(keys, lease) {
    if (this.isBusy) return;
    const { random } = this.world;
    random.weighted([
      [3, () => this.failover()],
      [2, () => this.promoteBehind(keys, lease)],
      [2, () => this.crash(keys, lease)],
      [2, () => (this.replica.lag = random.pick([1, 1, 20, 200]))],
    ])();
  }

  /** FAILOVER: the primary lets writes wait until its replica has all of them, and becomes its replica. */
  failover() {
    const { world, primary, replica } = this;
    this.isBusy = true;
    this.settledAt = Infinity;
    world.note('FAILOVER from', primary.name, 'to', replica.name);
    primary.isPaused = true;
    this.disturb(AFTERMATH);
    const swap = () => {
      if (replica.pending.length > 0) return;
      replica.onCaughtUp = undefined;
      this.#swap();
      primary.replicateFrom(replica);
      primary.resume();
      this.#lead();
    };
    replica.onCaughtUp = swap;
    // At the primary, after what it does now.
    world.after(1, () => this.primary === primary && swap(), primary);
  }

  /** SENTINEL FAILOVER, or a primary that the others do not see: for a while there are two. */
  promoteBehind(keys, lease) {
    const { world, primary, replica } = this;
    this.isBusy = true;
    this.settledAt = Infinity;
    world.note('promotes', replica.name, 'beside', primary.name);
    const lost = this.#lose(primary, replica, keys);
    this.#swap();
    // Sentinel names it, and demotes the former primary.
    const demotedIn = world.random.pick([10, 200, 2_000]);
    if (this.isSentinel) this.#tell();
    this.disturb(demotedIn + AFTERMATH);
    const demote = () => {
      primary.onWrite = undefined;
      world.note(primary.name, 'becomes its replica');
      this.#excuse(lost, lease);
      primary.replicateFrom(replica);
      for (const connection of [...primary.connections]) connection.closedByServer();
      this.#lead();
    };
    world.after(demotedIn, demote, primary);
  }

  /** The primary is gone: its connections are cut, or half open. */
  crash(keys, lease) {
    const { world, primary, replica } = this;
    const { random } = world;
    this.isBusy = true;
    this.settledAt = Infinity;
    primary.isDown = true;
    primary.isSilent = random.chance(0.5);
    const promotedIn = random.between(100, 3_000);
    world.note(primary.name, 'is gone', primary.isSilent ? 'silently' : '', promotedIn);
    for (const connection of [...primary.connections]) {
      if (primary.isSilent) connection.isHalfOpen = true;
      else connection.cut();
    }
    this.disturb(promotedIn + AFTERMATH);
    const promote = () => {
      const lost = this.#lose(primary, replica, keys);
      primary.onWrite = undefined;
      this.#swap();
      if (this.isSentinel) this.#tell();
      this.#excuse(lost, lease);
      const back = () => {
        primary.isDown = primary.isSilent = false;
        primary.connections.clear();
        primary.replicateFrom(replica);
        this.#lead();
      };
      world.after(random.between(100, 5_000), back, undefined);
      this.disturb(AFTERMATH);
    };
    world.after(promotedIn, promote, undefined);
  }

  /** The keys whose last writes the new primary does not get: those of the replication, and all that follow. */
  #lose(primary, replica, keys) {
    const lost = new Set();
    const note = ({ entries }) => {
      const names = new Set(entries.map(([name]) => name));
      for (const key of keys) if (names.has(this.namesOf(key).lock)) lost.add(key);
    };
    replica.promote().forEach(note);
    primary.onWrite = note;
    this.#losing = lost;
    return lost;
  }

  #excuse(lost, lease) {
    this.#losing = undefined;
    for (const key of lost) {
      this.excusedUntil.set(key, this.world.now + lease);
      this.onLost(key);
    }
  }

  #swap() {
    const { primary, replica } = this;
    this.former = this.primary;
    this.primary = replica;
    this.replica = primary;
    if (replica.isReplica) replica.promote();
    this.world.note(replica.name, 'is the primary');
  }

  /** New connections lead to the new primary, sooner or later. */
  #lead() {
    const { world, links } = this;
    const { random } = world;
    let last = 0;
    for (const link of links) {
      const ms = this.isSentinel || this.former.isDown ? 0 : random.pick([0, 0, 30, 500, 2_000]);
      link.outdatedUntil = world.now + ms;
      link.disturb(ms + AFTERMATH);
      last = Math.max(last, ms);
    }
    if (this.isSentinel) this.#tell();
    this.settledAt = world.now + last;
    const settled = () => {
      this.isBusy = false;
    };
    world.after(last + 1_000, settled, undefined);
  }

  #tell() {
    const { world, links } = this;
    for (const link of links) world.after(world.random.between(1, 400), () => link.told(), link.process);
  }

  disturb(ms) {
    for (const link of this.links) link.disturb(ms);
  }
}
