import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';

export const title = 'ZooKeeper';
export const candidates = ['zookeeper-floor', 'zookeeper-ours', 'zookeeper-curator'];
/** M1 against the floor, M4 against the best of the others. */
export const goals = { free: 0.8, fourProcesses: 5 };
export const costs = [
  ['requests/hold', 'requests'],
  ['transactions/hold', 'writes'],
];

/** What a second of processor time is in /proc. */
const TICKS = 100;
const ATTEMPTS = 300;

/** One server with the settings that it comes with: a transaction is on the disk when it is answered. */
export async function openServer({ libraries, curator }) {
  // For those who take Curator's lock, in processes of their own.
  process.env['BENCH_CURATOR'] = JSON.stringify(curator);
  const folder = mkdtempSync(join(tmpdir(), 'lock-bench-'));
  const port = await freePort();
  const settings = {
    dataDir: join(folder, 'data'),
    clientPort: port,
    clientPortAddress: '127.0.0.1',
    tickTime: 2_000,
    'admin.enableServer': false,
    '4lw.commands.whitelist': 'srvr,mntr',
  };
  const file = join(folder, 'zoo.cfg');
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(file, lines.join(''));
  const main = 'org.apache.zookeeper.server.quorum.QuorumPeerMain';
  const server = spawn('java', ['-cp', join(libraries, '*'), main, file], { cwd: folder, stdio: 'ignore' });
  const stats = new ZooKeeperStats(port, server.pid);
  for (let attempt = 0; (await stats.version()) === undefined; attempt++) {
    if (server.exitCode !== null || attempt === ATTEMPTS) throw new Error('ZooKeeper did not start');
    await elapse(100);
  }
  return {
    url: `127.0.0.1:${port}`,
    stats,
    stop() {
      server.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Counts what a server does by its own commands. */
class ZooKeeperStats {
  #port;
  #pid;
  #before;

  constructor(port, pid) {
    this.#port = port;
    this.#pid = pid;
  }

  /** What was held goes with the sessions of those who are measured, and nodes of locks by themselves. */
  async empty() {
    await Promise.resolve();
  }

  async reset() {
    this.#before = await this.#look();
  }

  /** Since the last reset: requests, and transactions that were written. */
  async counts() {
    const now = await this.#look();
    return { requests: now.requests - this.#before.requests, writes: now.writes - this.#before.writes };
  }

  /** @returns {Promise<number>} ms of processor time that it has used so far */
  processorMs() {
    const text = readFileSync(`/proc/${this.#pid}/stat`, 'utf8');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    return Promise.resolve(((fields[11] + fields[12]) * 1_000) / TICKS);
  }

  async version() {
    return /^Zookeeper version: (\d[\d.]*\d)/m.exec(await this.#ask('srvr'))?.[1];
  }

  async #look() {
    const text = await this.#ask('srvr');
    const zxid = BigInt(/^Zxid: (0x[\da-f]+)/m.exec(text)[1]);
    return {
      requests: Number(/^Received: (\d+)/m.exec(text)[1]),
      writes: Number(zxid & 0xffffffffn),
    };
  }

  async #ask(command) {
    const socket = connect(this.#port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk)).on('error', () => undefined);
    socket.write(command);
    await new Promise((resolve) => socket.once('close', resolve));
    return answer;
  }
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}
