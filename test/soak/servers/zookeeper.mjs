import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { freePort } from '../../../.scripts/servers/free-port.mjs';
import {
  askZooKeeper,
  modeOf,
  SMALL_JAVA,
  zooKeeperArguments,
} from '../../../.scripts/servers/zookeeper.mjs';
import { end, spawnTied } from '../lifeline.mjs';
import { Members, withRetries } from './members.mjs';
import { load } from './module-options.mjs';

const ROOT = '/distributed-locks';
const TOKENS_PER_TRANSACTION = 128;
const SETTINGS = {
  tickTime: 200,
  initLimit: 20,
  syncLimit: 10,
  maxSessionTimeout: 60_000,
  maxClientCnxns: 0,
};

/** A ZooKeeper ensemble of three members on free ports of the loopback interface, with persistent data. */
export class ZooKeeperUnderTest extends Members {
  #libraries;
  #build;
  #connection;
  #operations;

  constructor({ libraries }, directory, build) {
    super(join(directory, 'zookeeper'));
    this.#libraries = libraries;
    this.#build = build;
  }

  async start() {
    for (const id of [1, 2, 3]) {
      const [port, quorum, election] = [await freePort(), await freePort(), await freePort()];
      this.members.push({ id, name: `member-${id}`, port, peers: `127.0.0.1:${quorum}:${election}` });
    }
    for (const member of this.members) this.launch(member);
    const { entry } = this.#build;
    const { ZooKeeperConnection } = await load(entry, 'stores/zookeeper/connection/zookeeper-connection.js');
    this.#operations = await load(entry, 'stores/zookeeper/connection/protocol.js');
    this.#connection = new ZooKeeperConnection(
      this.members.map(({ port }) => ({ host: '127.0.0.1', port })),
      { tls: undefined, auth: undefined, requestTimeout: 2_000 },
      undefined,
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

  /** Each write has a Zxid; each leader starts counting again. */
  async census() {
    const answers = await Promise.all(this.members.map((member) => askZooKeeper(member)));
    const leader = answers.find((answer) => answer.includes('Mode: leader'));
    return {
      entries: Number(/^Node count: (\d+)/m.exec(leader)?.[1]),
      writes: Number(/^Zxid: (0x[\da-f]+)/m.exec(leader)?.[1]),
      bytes: undefined,
    };
  }

  async close() {
    await this.#connection?.close(true);
    await super.close();
  }

  async stop(means, name, members) {
    await super.stop(means, name, members);
    await this.served();
  }

  async kill(means, name, members) {
    await super.kill(means, name, members);
    await this.served();
  }

  async empty({ random, note, record }, name, member) {
    const untilServed = await this.outageWithout([member], record);
    note(name, { members: [member.name] });
    await end(member.process);
    untilServed();
    // Otherwise two of three members may lack agreed data.
    if (await this.areServing(this.members.filter((other) => other !== member))) {
      rmSync(join(this.folderOf(member), 'data'), { recursive: true, force: true });
    }
    await elapse(random.between(0, 1_500));
    this.launch(member);
    // An emptied member does not count towards a majority before it is up to date.
    await this.served(this.members.length);
  }

  /** Waits for a leader. Otherwise faults could interrupt elections again and again, and a wait would have no bound. */
  async served(least = 2) {
    for (;;) {
      const modes = await Promise.all(this.members.map(modeOf));
      if (modes.includes('leader') && modes.filter(Boolean).length >= least) return;
      await elapse(100);
    }
  }

  async areServing(members) {
    return !(await Promise.all(members.map(modeOf))).includes(undefined);
  }

  async leader() {
    const modes = await Promise.all(this.members.map(modeOf));
    return this.members[Math.max(0, modes.indexOf('leader'))];
  }

  async #names(path) {
    const { getChildren } = this.#operations;
    return (await this.#ask(() => getChildren(path, false)))?.names ?? [];
  }

  /** Retries; undefined for a missing node. */
  async #ask(operation) {
    return await withRetries(() =>
      this.#connection.request(operation()).catch((error) => {
        if (error.code !== -101) throw error;
      }),
    );
  }

  launch(member) {
    const folder = this.folderOf(member);
    const java = ['-Xmx256m', ...SMALL_JAVA, '-Dzookeeper.forceSync=no'];
    const ensemble = { libraries: this.#libraries, members: this.members, settings: SETTINGS, java };
    const args = zooKeeperArguments({ ...ensemble, ...member, folder });
    member.process = spawnTied('java', args, { cwd: folder, stdio: 'ignore' });
  }
}
