import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { end, spawnTied } from '../lifeline.mjs';
import { monotonic } from '../monotonic.mjs';
import { freePort } from './free-port.mjs';
import { load } from './module-options.mjs';

const ROOT = '/distributed-locks';
const TOKENS_PER_TRANSACTION = 128;

/** A ZooKeeper ensemble of three members on free ports of the loopback interface, with persistent data. */
export class ZooKeeperUnderTest {
  pushes = 'watch events';
  #libraries;
  #directory;
  #build;
  #members = [];
  #connection;
  #operations;

  constructor({ libraries }, directory, build) {
    this.#libraries = libraries;
    this.#directory = join(directory, 'zookeeper');
    this.#build = build;
  }

  async start() {
    for (const id of [1, 2, 3]) {
      const [port, quorum, election] = [await freePort(), await freePort(), await freePort()];
      this.#members.push({ id, port, peers: `127.0.0.1:${quorum}:${election}` });
    }
    for (const member of this.#members) this.#launch(member);
    const { entry } = this.#build;
    const { ZooKeeperConnection } = await load(entry, 'stores/zookeeper/connection/zookeeper-connection.js');
    this.#operations = await load(entry, 'stores/zookeeper/connection/protocol.js');
    this.#connection = new ZooKeeperConnection(
      this.#members.map(({ port }) => ({ host: '127.0.0.1', port })),
      { tls: undefined, auth: undefined, requestTimeout: 2_000 },
      () => 30_000,
      {
        prepare: async () => undefined,
        back: () => undefined,
        lost: () => undefined,
        event: () => undefined,
      },
    );
    // It keeps trying to connect.
    await this.#connection.open().catch(() => undefined);
    await this.#names('/');
  }

  /** The port of the member behind the proxies. */
  get port() {
    return this.#members[0].port;
  }

  get url() {
    return this.urlAt(this.port);
  }

  urlAt(port) {
    return [port, ...this.#members.slice(1).map((member) => member.port)]
      .map((one) => `127.0.0.1:${one}`)
      .join(',');
  }

  /** No larger fencing token has been issued so far. */
  async fence() {
    const { create, getData, sync } = this.#operations;
    await this.#ask(() => sync('/'));
    const base = await this.#ask(() => getData(`${ROOT}/base`, false));
    if (base === undefined) return 0;
    // A new transaction has a larger id than all others.
    const acl = { permissions: 31, scheme: 'world', id: 'anyone' };
    const { path, stat } = await this.#ask(() => create(`${ROOT}/fence-`, Buffer.alloc(0), acl, 3));
    await this.#ask(() => this.#operations.remove(path));
    return Number(base.data.toString()) + stat.czxid * TOKENS_PER_TRANSACTION - 1;
  }

  async isWritable() {
    await Promise.resolve();
  }

  /** The parent nodes of locks are left out: the servers delete unused ones only after a minute or two. */
  async leftovers() {
    const locks = await this.#names(`${ROOT}/locks`);
    const places = await Promise.all(
      locks.map(async (lock) =>
        (await this.#names(`${ROOT}/locks/${lock}`)).map((name) => `${lock}/${name}`),
      ),
    );
    return places.flat().map((name) => ({ name, ttl: -1 }));
  }

  isTransient() {
    return true;
  }

  /** Each write has a Zxid; each leader starts counting again. */
  async census() {
    const answers = await Promise.all(this.#members.map(serverStats));
    const leader = answers.find((answer) => answer.includes('Mode: leader'));
    return {
      entries: Number(/^Node count: (\d+)/m.exec(leader)?.[1]),
      writes: Number(/^Zxid: (0x[\da-f]+)/m.exec(leader)?.[1]),
      bytes: undefined,
    };
  }

  /** The faults of the ensemble as `[weight, name, act]`. */
  faults(means) {
    const { random } = means;
    const some = () => this.#members.slice(random.between(0, 1), 2 + random.between(0, 1));
    return [
      [6, 'member stopped', (name) => this.#stop(means, name, [random.pick(this.#members)])],
      [5, 'leader stopped', async (name) => this.#stop(means, name, [await this.#leader()])],
      [3, 'majority stopped', (name) => this.#stop(means, name, some())],
      [4, 'leader killed and started again', async (name) => this.#kill(means, name, [await this.#leader()])],
      [3, 'member killed and started again', (name) => this.#kill(means, name, [random.pick(this.#members)])],
      [
        2,
        'member killed, emptied and started again',
        (name) => this.#kill(means, name, [random.pick(this.#members)], true),
      ],
      [2, 'all killed and started again', (name) => this.#kill(means, name, this.#members)],
    ];
  }

  async close() {
    await this.#connection?.close(true);
    await Promise.all(this.#members.map(({ process }) => process && end(process)));
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #stop({ random, note, record }, name, members) {
    const ms = random.between(20, 2_500);
    const untilServed = await this.#outageWithout(members, record);
    note(name, { ms, members: members.map(({ id }) => id) });
    for (const { process } of members) process.kill('SIGSTOP');
    untilServed();
    await elapse(ms);
    for (const { process } of members) process.kill('SIGCONT');
    await this.#waitForLeader();
  }

  async #kill({ random, note, record }, name, members, isEmptied = false) {
    const untilServed = await this.#outageWithout(members, record);
    note(name, { members: members.map(({ id }) => id) });
    await Promise.all(members.map(({ process }) => end(process)));
    untilServed();
    // Otherwise two of three members may lack agreed data.
    if (isEmptied && (await this.#isLed(members))) {
      for (const member of members)
        rmSync(join(this.#folderOf(member), 'data'), { recursive: true, force: true });
    }
    await elapse(random.between(0, 1_500));
    for (const member of members) this.#launch(member);
    // An emptied member does not count towards a majority before it is up to date.
    await this.#waitForLeader(isEmptied ? this.#members.length : 2);
  }

  /**
   * The returned function is called when these members have failed. It records how long the ensemble is unavailable, if the
   * leader or a majority has failed, without waiting for the end.
   */
  async #outageWithout(members, record) {
    const staysAvailable = members.length === 1 && members[0] !== (await this.#leader());
    const from = monotonic();
    return () => {
      if (!staysAvailable) void this.#waitForLeader().then(() => record({ e: 'away', from }));
    };
  }

  /** Waits for a leader. Otherwise faults could interrupt elections again and again, and a wait would have no bound. */
  async #waitForLeader(least = 2) {
    for (;;) {
      const modes = await Promise.all(this.#members.map(modeOf));
      if (modes.includes('leader') && modes.filter(Boolean).length >= least) return;
      await elapse(100);
    }
  }

  /** Whether all other members serve. */
  async #isLed(without) {
    const modes = await Promise.all(this.#members.filter((member) => !without.includes(member)).map(modeOf));
    return !modes.includes(undefined);
  }

  /** The leader, or any member if there is none. */
  async #leader() {
    const modes = await Promise.all(this.#members.map(modeOf));
    return this.#members[Math.max(0, modes.indexOf('leader'))];
  }

  async #names(path) {
    const { getChildren } = this.#operations;
    return (await this.#ask(() => getChildren(path, false)))?.names ?? [];
  }

  /** Retries; undefined for a missing node. */
  async #ask(operation) {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#connection.request(operation());
      } catch (error) {
        if (error.code === -101) return undefined;
        if (attempt > 300) throw error;
        await elapse(100);
      }
    }
  }

  #folderOf({ id }) {
    return join(this.#directory, `member-${id}`);
  }

  #launch(member) {
    const folder = this.#folderOf(member);
    const data = join(folder, 'data');
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'myid'), `${member.id}`);
    const lines = {
      dataDir: data,
      clientPort: member.port,
      clientPortAddress: '127.0.0.1',
      tickTime: 200,
      initLimit: 20,
      syncLimit: 10,
      maxSessionTimeout: 60_000,
      maxClientCnxns: 0,
      'admin.enableServer': false,
      ...Object.fromEntries(this.#members.map(({ id, peers }) => [`server.${id}`, peers])),
    };
    const file = join(folder, 'zoo.cfg');
    writeFileSync(
      file,
      Object.entries(lines)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
    const args = [
      ...['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'],
      ...['-Dzookeeper.forceSync=no', '-Dzookeeper.cnxTimeout=500'],
      ...['-cp', join(this.#libraries, '*'), 'org.apache.zookeeper.server.quorum.QuorumPeerMain', file],
    ];
    member.process = spawnTied('java', args, { cwd: folder, stdio: 'ignore' });
  }
}

/** `leader`, `follower`, or undefined for a member that does not serve. */
async function modeOf(member) {
  return /^Mode: (\w+)/m.exec(await serverStats(member))?.[1];
}

/** The status report of a member; empty while it is unreachable. */
async function serverStats({ port }) {
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(1_000, () => socket.destroy());
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk)).on('error', () => undefined);
  socket.write('srvr');
  await new Promise((resolve) => socket.once('close', resolve));
  return answer;
}
