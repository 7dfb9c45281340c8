import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Endpoint, channelCredentials } from '../../dist/esm/stores/etcd/connection/endpoint.js';
import { methods } from '../../dist/esm/stores/etcd/protocol/methods.js';

export const title = 'etcd';
export const candidates = ['etcd-floor', 'etcd-ours', 'etcd-v3lock'];
/** M1 against the floor, M4 against the best of the others. */
export const goals = { free: 0.8, fourProcesses: 5 };
export const costs = [
  ['requests/hold', 'requests'],
  ['raft writes/hold', 'writes'],
];

/** What a second of processor time is in /proc. */
const TICKS = 100;

/** One member with the settings that it comes with: a write is on the disk when it is answered. */
export async function openServer(program) {
  const folder = mkdtempSync(join(tmpdir(), 'lock-bench-'));
  const [port, peerPort] = [await freePort(), await freePort()];
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  const options = {
    name: 'bench',
    'data-dir': join(folder, 'data'),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `bench=${peer}`,
    'log-level': 'error',
  };
  const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`);
  const server = spawn(program, args, { cwd: folder, stdio: 'ignore' });
  const endpoint = new Endpoint(`127.0.0.1:${port}`, channelCredentials(undefined), undefined, 30_000);
  await endpoint.open(30_000);
  return {
    url: `127.0.0.1:${port}`,
    stats: new EtcdStats(endpoint, client, server.pid),
    stop() {
      server.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Counts what a server does by its own metrics. */
class EtcdStats {
  #endpoint;
  #url;
  #pid;
  #before;

  constructor(endpoint, url, pid) {
    this.#endpoint = endpoint;
    this.#url = url;
    this.#pid = pid;
  }

  async empty() {
    const prefixes = ['distributed-lock/l', 'floor/', 'v3lock/'];
    const deleted = prefixes.map((key) => ({ do: 'delete', key, end: `${key}\u{10ffff}` }));
    await this.#endpoint.call(methods.transaction, { do: 'txn', if: [], then: deleted, else: [] });
  }

  async reset() {
    this.#before = await this.#look();
  }

  /** Since the last reset: requests that were begun, and entries of the log of writes. */
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
    return (await this.#endpoint.call(methods.status, undefined)).version;
  }

  async #look() {
    const text = await (await fetch(`${this.#url}/metrics`)).text();
    const sum = (name) =>
      [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].reduce(
        (all, [, value]) => all + Number(value),
        0,
      );
    return {
      requests: sum('grpc_server_started_total'),
      writes: sum('etcd_server_proposals_committed_total'),
    };
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
