import { spawn } from 'node:child_process';
import { setTimeout as elapse } from 'node:timers/promises';
import { freePort } from '../../.scripts/servers/free-port.mjs';
import { guardAgainstOrphans } from '../../.scripts/servers/processes.mjs';
import { askZooKeeper, zooKeeperArguments } from '../../.scripts/servers/zookeeper.mjs';
import { privateFolder, stopper } from '../harness/private-folder.mjs';
import { StoreStats } from './store-stats.mjs';

export const title = 'ZooKeeper';
export const candidates = ['zookeeper-floor', 'zookeeper-ours', 'zookeeper-curator'];
/** M1 against the floor, M4 against the best peer. */
export const goals = { free: 0.8, fourProcesses: 5 };
export const costs = [
  ['requests/hold', 'requests'],
  ['transactions/hold', 'writes'],
];

const ATTEMPTS = 300;

/** Starts one server with default settings: a transaction is on disk before the reply. */
export async function openServer({ libraries, curator }) {
  // The candidate for Curator reads this in its own process.
  process.env['BENCH_CURATOR'] = JSON.stringify(curator);
  const folder = privateFolder();
  const port = await freePort();
  const settings = {
    tickTime: 2_000,
    // All processes come from this machine; the default is 60.
    maxClientCnxns: 0,
    '4lw.commands.whitelist': 'srvr,mntr',
  };
  const args = zooKeeperArguments({ libraries, folder, port, settings });
  const server = spawn('java', args, { cwd: folder, stdio: 'ignore' });
  guardAgainstOrphans(server, folder);
  const stats = new ZooKeeperStats(port, server.pid);
  for (let attempt = 0; (await stats.version()) === undefined; attempt++) {
    if (server.exitCode !== null || attempt === ATTEMPTS) throw new Error('ZooKeeper did not start');
    await elapse(100);
  }
  return { url: `127.0.0.1:${port}`, stats, stop: stopper(server, folder) };
}

class ZooKeeperStats extends StoreStats {
  #server;

  constructor(port, pid) {
    super(pid);
    this.#server = { port };
  }

  /** Nothing to do: nodes of holds end with the sessions of the candidates, and the server removes empty lock nodes. */
  async empty() {
    await Promise.resolve();
  }

  /** @returns {Promise<import('./store-stats.mjs').StoreSize>} */
  async size() {
    const text = await askZooKeeper(this.#server, 'mntr');
    const numberOf = (name) => Number(new RegExp(`^${name}\\s+(\\d+)`, 'm').exec(text)[1]);
    return {
      entries: numberOf('zk_znode_count'),
      bytes: numberOf('zk_approximate_data_size'),
      connections: numberOf('zk_num_alive_connections') - 1,
    };
  }

  async version() {
    return /^Zookeeper version: (\d[\d.]*\d)/m.exec(await askZooKeeper(this.#server))?.[1];
  }

  /** From the commands of ZooKeeper: received requests, and written transactions. */
  async look() {
    const text = await askZooKeeper(this.#server);
    const zxid = BigInt(/^Zxid: (0x[\da-f]+)/m.exec(text)[1]);
    return {
      requests: Number(/^Received: (\d+)/m.exec(text)[1]),
      writes: Number(zxid & 0xffffffffn),
    };
  }
}
