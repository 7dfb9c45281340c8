import { createRequire } from 'node:module';
import { holdersAt, RedisLink, waitersAt } from './redis-network.mjs';
import { RedisServer } from './virtual-redis.mjs';

const { Cluster } = createRequire(import.meta.url)('ioredis');

const SLOTS = 16_384;
const PORT = 6_379;
/** How long a step of a move may disturb processes, ms. */
const AFTERMATH = 2_500;

const hostOf = (server) => `10.0.0.${server.name.at(-1)}`;

/** What a server of a Cluster knows of it: who has which slot, and which of its own slots are moving. */
class ClusterView {
  /** By slot: the index of its server. */
  owners;
  /** Slots that leave this server, and slots that it is about to get. */
  migrating = new Set();
  importing = new Set();

  constructor(server, site) {
    Object.assign(this, { server, site });
    this.owners = Uint8Array.from({ length: SLOTS }, (_, slot) => (slot < SLOTS / 2 ? 0 : 1));
  }

  /** `CLUSTER SLOTS`. */
  ranges() {
    const ranges = [];
    for (let slot = 0; slot < SLOTS; slot += 1) {
      const owner = this.owners[slot];
      const last = ranges.at(-1);
      if (last?.owner === owner) last.end = slot;
      else ranges.push({ owner, start: slot, end: slot });
    }
    return ranges.map(({ owner, start, end }) => {
      const server = this.site.servers[owner];
      return [start, end, [hostOf(server), PORT, server.runId]];
    });
  }

  /** Why the server does not carry out a command with these keys, or this channel; undefined if it does. */
  redirection([first, ...others], isChannel, isAsking) {
    if (first === undefined) return undefined;
    const { server, site } = this;
    const slot = site.slotOf(first);
    const owner = site.servers[this.owners[slot]];
    if (!isChannel) {
      const keys = [first, ...others];
      const found = keys.filter((key) => server.find(key) !== undefined).length;
      if (owner === server && this.migrating.has(slot) && found < keys.length) {
        const other = site.servers.find((each) => each !== server);
        return found > 0
          ? 'TRYAGAIN Multiple keys request during rehashing of slot'
          : `ASK ${slot} ${hostOf(other)}:${PORT}`;
      }
      if (isAsking && this.importing.has(slot)) {
        const isSplit = keys.length > 1 && found < keys.length;
        return isSplit ? 'TRYAGAIN Multiple keys request during rehashing of slot' : undefined;
      }
    }
    return owner === server ? undefined : `MOVED ${slot} ${hostOf(owner)}:${PORT}`;
  }
}

/** The connections of a process to the servers of a Cluster. */
export class ClusterLink extends RedisLink {
  client() {
    const isForRequests = ({ connectionName }) => connectionName?.includes('refresher') !== true;
    const nodes = this.site.servers.map((server) => ({ host: hostOf(server), port: PORT }));
    const Connector = this.connectors(isForRequests);
    return new Cluster(nodes, { lazyConnect: true, redisOptions: { Connector } });
  }

  target({ host }) {
    return this.site.servers.find((server) => hostOf(server) === host);
  }
}

/** A Redis Cluster of two primaries. Slots move from one to the other, key by key or at once. */
export class ClusterSite {
  name = 'cluster';
  links = [];
  /** Nothing is lost when a slot moves, so nothing is excused. */
  isBusy = false;
  /** When the last move was over, for all processes. */
  settledAt = -Infinity;

  /**
   * @param namesOf the names of a key's lock and waiters
   * @param slotOf the slot of a name
   */
  constructor(world, runner, namesOf, slotOf) {
    const slots = new Map();
    const known = (name) => slots.get(name) ?? (slots.set(name, slotOf(name)), slots.get(name));
    Object.assign(this, { world, namesOf, slotOf: known });
    this.servers = ['redis 1', 'redis 2'].map((name) => new RedisServer(world, runner, name));
    for (const server of this.servers) server.cluster = new ClusterView(server, this);
  }

  get stalledUntil() {
    return Math.max(...this.servers.map((server) => server.stalledUntil));
  }

  set stalledUntil(time) {
    if (time > 0) this.world.random.pick(this.servers).stalledUntil = time;
    else for (const server of this.servers) server.stalledUntil = 0;
  }

  /** The server that serves requests about a lock, as it sees it. */
  serverFor(name) {
    const slot = this.slotOf(name);
    const own = this.servers.filter((server, index) => server.cluster.owners[slot] === index);
    return own.find((server) => server.cluster.importing.size === 0) ?? own[0];
  }

  holdersOf(key) {
    return this.servers.flatMap((server) => holdersAt(server, this.namesOf(key)));
  }

  waitersOf(key) {
    return this.servers.flatMap((server) => waitersAt(server, this.namesOf(key)));
  }

  isExcused() {
    return false;
  }

  disturb(ms) {
    for (const link of this.links) link.disturb(ms);
  }

  /**
   * Slots move, and often come back.
   *
   * @param busy the key in demand
   */
  trouble(keys, lease, busy) {
    if (this.settledAt === Infinity) return;
    const { random } = this.world;
    this.settledAt = Infinity;
    const slot = this.slotOf(this.namesOf(random.chance(0.7) ? busy : random.pick(keys)).lock);
    const { owners } = this.servers[0].cluster;
    const all = Array.from({ length: SLOTS }, (_, each) => each);
    // With all of its slots, a server leaves the map.
    const slots = random.chance(0.7) ? [slot] : all.filter((each) => owners[each] === owners[slot]);
    void this.move(slots, random.pick([1, 2, 3]));
  }

  /** @param times how often */
  async move(slots, times) {
    const { world, servers } = this;
    const { random } = world;
    for (let time = 0; time < times; time += 1) {
      if (time > 0) await new Promise((next) => world.after(random.pick([5, 50, 500, 3_000, 9_000]), next));
      const index = servers[0].cluster.owners[slots[0]];
      const [from, to] = [servers[index], servers[1 - index]];
      world.note(slots.length === 1 ? `slot ${slots[0]}` : `${slots.length} slots`, 'of', from.name, 'move');
      this.disturb(AFTERMATH);
      if (random.chance(0.3)) this.moveAtOnce(new Set(slots), from, to);
      else await this.moveByKey(new Set(slots), from, to);
    }
    this.settledAt = world.now;
  }

  pause(ms, place) {
    this.disturb(ms + Math.max(0, (place?.stalledUntil ?? 0) - this.world.now) + AFTERMATH);
    return new Promise((resolve) => this.world.after(ms, resolve, place));
  }

  namesIn(slots, server) {
    return [...server.data.keys()].filter((name) => slots.has(this.slotOf(name)));
  }

  carry(name, from, to) {
    to.data.set(name, from.data.get(name));
    from.data.delete(name);
  }

  /** As Redis 8.4 and Valkey 9 do. */
  moveAtOnce(slots, from, to) {
    for (const name of this.namesIn(slots, from)) this.carry(name, from, to);
    this.learn(slots, to, to);
    this.learn(slots, from, to);
  }

  /** `CLUSTER SETSLOT` and `MIGRATE`, as `redis-cli --cluster reshard` sends them. */
  async moveByKey(slots, from, to) {
    const { random } = this.world;
    to.cluster.importing = slots;
    await this.pause(random.next() * 5, from);
    from.cluster.migrating = slots;
    for (let names; (names = this.namesIn(slots, from)).length > 0;) {
      await this.pause(random.next() * random.pick([1, 20, 100]), from);
      const name = random.pick(names);
      if (from.data.has(name)) this.carry(name, from, to);
    }
    await this.pause(random.next() * 5, to);
    this.learn(slots, to, to);
    await this.pause(random.pick([0.5, 5, 50, 500]), from);
    this.learn(slots, from, to);
  }

  learn(slots, server, owner) {
    const { cluster } = server;
    const index = this.servers.indexOf(owner);
    for (const slot of slots) cluster.owners[slot] = index;
    cluster.importing = cluster.migrating = new Set();
    this.disturb(AFTERMATH);
    this.world.note(server.name, 'knows that the slots are at', owner.name);
    if (server !== owner) server.unsubscribe((channel) => slots.has(this.slotOf(channel)));
  }
}
