import { setTimeout as elapse } from 'node:timers/promises';
import { monotonic } from '../monotonic.mjs';
import { load } from './module-options.mjs';
import { RedisUnderTest } from './redis.mjs';

const REPLICATION = { 'repl-diskless-sync': 'yes', 'repl-diskless-sync-delay': '0' };
/** So that a failover happens about every 20 seconds. */
const FAILOVERS = 4;

/** Several servers, each behind a proxy of its own. */
class SeveralRedis extends RedisUnderTest {
  get targets() {
    return this.servers.map(
      ({ port }) =>
        () =>
          port,
    );
  }

  /** For clients that learn addresses from the servers: the port of the proxy for each. */
  natMap(ports) {
    return Object.fromEntries(
      this.servers.map(({ address }, index) => [address, { host: '127.0.0.1', port: ports[index] }]),
    );
  }
}

/**
 * A primary and a replica behind one address, as managed services offer them. `FAILOVER` loses no write. It leads new
 * connections to the new primary, while old ones live on at the former one, its replica from then on.
 */
export class RedisAtOneAddress extends RedisUnderTest {
  #primary;

  async start() {
    await this.launch(2, REPLICATION);
    const [primary, replica] = this.servers;
    this.#primary = primary;
    await replica.admin.replicaof('127.0.0.1', primary.port);
    await inSync(replica);
  }

  get primary() {
    return this.#primary;
  }

  faults(means) {
    return [
      ...this.passingFaults(means),
      [FAILOVERS, 'planned failover', (name) => this.#failOver(means.note, name)],
    ];
  }

  async #failOver(note, name) {
    await this.isWritable();
    const former = this.#primary;
    const next = this.servers.find((server) => server !== former);
    await inSync(next);
    note(name);
    await former.admin.call('FAILOVER', 'TO', '127.0.0.1', next.port);
    await until('the replica is promoted', () => hasRole(next, 'master'));
    this.#primary = next;
    await inSync(former);
  }
}

/**
 * A primary with two replicas and three sentinels. After `SENTINEL FAILOVER` the former primary accepts writes until a
 * sentinel makes it a replica, and loses them. The server is not stopped for as long as the sentinels would tolerate.
 */
export class RedisWithSentinel extends SeveralRedis {
  #sentinels = [];
  #primary;

  async start() {
    await this.launch(3, REPLICATION);
    const [primary, ...replicas] = this.servers;
    this.#primary = primary;
    for (const replica of replicas) await replica.admin.replicaof('127.0.0.1', primary.port);
    for (const replica of replicas) await inSync(replica);
    this.#sentinels = [1, 2, 3].map(() => this.instance(undefined));
    await Promise.all(this.#sentinels.map((sentinel) => sentinel.start()));
    for (const { admin } of this.#sentinels) {
      const periods = { 'ping-period': 300, 'info-period': 500, 'publish-period': 200, 'ask-period': 200 };
      // Older servers have fixed periods.
      await admin.call('SENTINEL', 'DEBUG', ...Object.entries(periods).flat()).catch(() => undefined);
      await admin.call('SENTINEL', 'MONITOR', 'main', '127.0.0.1', primary.port, 2);
      const settings = { 'down-after-milliseconds': 10_000, 'failover-timeout': 5_000, 'parallel-syncs': 2 };
      await admin.call('SENTINEL', 'SET', 'main', ...Object.entries(settings).flat());
    }
    await until('the sentinels know all servers', () => this.#areSettled());
  }

  get primary() {
    return this.#primary;
  }

  urlAt(...ports) {
    const sentinels = this.#sentinels.map(({ port }) => ({ host: '127.0.0.1', port }));
    return JSON.stringify({ sentinels, name: 'main', natMap: this.natMap(ports) });
  }

  faults(means) {
    return [
      ...this.passingFaults(means),
      [FAILOVERS, 'failover by a sentinel', (name) => this.#failOver(means, name)],
    ];
  }

  async #failOver({ random, note, record }, name) {
    await this.isWritable();
    await until('the sentinels agree', () => this.#areSettled());
    const former = this.#primary;
    const sentinel = random.pick(this.#sentinels);
    note(name);
    const since = monotonic();
    let [fence, nextTry] = [0, since];
    await until(
      'the former primary is a replica',
      async () => {
        if (await hasRole(former, 'slave')) return true;
        fence = Math.max(fence, await this.tokenAt(former, 'lock:@:fence'));
        // The sentinel refuses if it is not sure of a replica, and gives up after a while.
        if (monotonic() > nextTry && (await this.#seenBy(sentinel)) === former.port) {
          await sentinel.admin.call('SENTINEL', 'FAILOVER', 'main').catch(() => undefined);
          nextTry = monotonic() + 500;
        }
        return false;
      },
      3,
    );
    // Some more may have been issued since the last look.
    record({ e: 'doomed', since, fence: fence + 500 });
    await until('the sentinels agree', () => this.#areSettled());
  }

  /** Whether all sentinels see the same primary and all servers as healthy; notes that primary. */
  async #areSettled() {
    const seen = await Promise.all(this.#sentinels.map((sentinel) => this.#seenBy(sentinel)));
    const [port] = seen;
    if (port === undefined || seen.some((other) => other !== port)) return false;
    const primary = this.servers.find((server) => server.port === port);
    if (!(await hasRole(primary, 'master'))) return false;
    for (const server of this.servers) if (server !== primary && !(await isInSync(server))) return false;
    this.#primary = primary;
    return true;
  }

  async #seenBy({ admin }) {
    const ask = (kind) => admin.call('SENTINEL', kind, 'main');
    const [primary, replicas, sentinels] = await Promise.all(['MASTER', 'REPLICAS', 'SENTINELS'].map(ask));
    const valueIn = (entry, name) => entry[entry.indexOf(name) + 1];
    const isWell = (entry) => /^(master|slave|sentinel)$/.test(valueIn(entry, 'flags'));
    const areAll = replicas.length === this.servers.length - 1 && sentinels.length === 2;
    return areAll && [primary, ...replicas].every(isWell) ? Number(valueIn(primary, 'port')) : undefined;
  }

  async close() {
    await super.close();
    await Promise.all(this.#sentinels.map((sentinel) => sentinel.close()));
  }
}

const SLOTS = 16_384;
const GROUPS = 3;

/** A Redis Cluster of three primaries with a replica each. `CLUSTER FAILOVER` loses no write. */
export class RedisClusterUnderTest extends SeveralRedis {
  /** Of each part of the slots. */
  #primaries = [];
  #build;
  #names;

  constructor(program, directory, build) {
    super(program, directory);
    this.#build = build;
  }

  async start() {
    const { KeyNames } = await load(this.#build.entry, 'stores/redis/scripts/key-names.js');
    this.#names = new KeyNames('lock:', true);
    await this.launch(2 * GROUPS, {
      ...REPLICATION,
      'cluster-enabled': 'yes',
      'cluster-config-file': 'nodes.conf',
      // The recommended value; no server is stopped for so long.
      'cluster-node-timeout': '5000',
      'cluster-allow-replica-migration': 'no',
    });
    const [first, ...others] = this.servers;
    this.#primaries = this.servers.slice(0, GROUPS);
    const share = Math.ceil(SLOTS / GROUPS);
    for (const [index, { admin }] of this.#primaries.entries()) {
      const from = index * share;
      const slots = Array.from({ length: Math.min(share, SLOTS - from) }, (_, slot) => from + slot);
      await admin.call('CLUSTER', 'ADDSLOTS', ...slots);
      await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    }
    for (const { port } of others) await first.admin.call('CLUSTER', 'MEET', '127.0.0.1', port);
    await until('all nodes have met', async () => {
      const views = await Promise.all(this.servers.map(({ admin }) => admin.call('CLUSTER', 'NODES')));
      return views.every((view) => view.trim().split('\n').length === 2 * GROUPS && !/handshake/.test(view));
    });
    for (const [index, { admin }] of this.#primaries.entries()) {
      const id = await admin.call('CLUSTER', 'MYID');
      await this.servers[GROUPS + index].admin.call('CLUSTER', 'REPLICATE', id);
    }
    await this.#settled();
  }

  get primary() {
    return this.#primaries[0];
  }

  get primaries() {
    return this.#primaries;
  }

  urlAt(...ports) {
    const nodes = ports.map((port) => ({ host: '127.0.0.1', port }));
    return JSON.stringify({ nodes, options: { natMap: this.natMap(ports) } });
  }

  async fence(key) {
    const slot = this.#names.slotOf(key);
    const primary = this.#primaries[Math.floor(slot / Math.ceil(SLOTS / GROUPS))];
    return await this.tokenAt(primary, this.#names.fence(slot));
  }

  faults(means) {
    return [
      ...this.passingFaults(means),
      [FAILOVERS, 'planned failover', (name) => this.#failOver(means, name)],
    ];
  }

  async #failOver({ random, note }, name) {
    await this.isWritable();
    const group = random.between(0, GROUPS - 1);
    const former = this.#primaries[group];
    const next = [this.servers[group], this.servers[GROUPS + group]].find((server) => server !== former);
    await inSync(next);
    note(name);
    await until('the replica is promoted', async () => {
      // It gives up after 5 s without a majority.
      await next.admin.call('CLUSTER', 'FAILOVER').catch(() => undefined);
      for (let look = 0; look < 60; look++) {
        if (await hasRole(next, 'master')) return true;
        await elapse(100);
      }
      return false;
    });
    this.#primaries[group] = next;
    await this.#settled();
  }

  async #settled() {
    await until('the cluster is healthy', async () => {
      for (const server of this.servers) {
        if (!/cluster_state:ok/.test(await server.admin.call('CLUSTER', 'INFO'))) return false;
        if (!this.#primaries.includes(server) && !(await isInSync(server))) return false;
      }
      return true;
    });
  }
}

/** A quorum of three servers, none of which loses its data. */
export class RedisQuorumUnderTest extends SeveralRedis {
  async start() {
    await this.launch(3);
  }

  get primaries() {
    return this.servers;
  }

  urlAt(...ports) {
    return ports.map((port) => super.urlAt(port)).join(',');
  }

  async fence() {
    const all = await Promise.all(this.servers.map((server) => this.tokenAt(server, 'lock:@:fence')));
    return Math.max(...all);
  }

  faults(means) {
    return this.passingFaults(means);
  }
}

async function hasRole(server, role) {
  return (await server.info('replication'))['role'] === role;
}

async function isInSync(replica) {
  const { role, master_link_status: link } = await replica.info('replication');
  return role === 'slave' && link === 'up';
}

async function inSync(replica) {
  await until('the replica is in sync', () => isInSync(replica));
}

async function until(what, check, every = 20) {
  for (const end = monotonic() + 60_000; !(await check());) {
    if (monotonic() > end) throw new Error(`In vain, the run waited for a minute until ${what}.`);
    await elapse(every);
  }
}
