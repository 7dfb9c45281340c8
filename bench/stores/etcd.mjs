import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { freePort } from '../../.scripts/free-port.mjs';
import { Endpoint, channelCredentials } from '../../build/cjs/stores/etcd/connection/endpoint.js';
import { methods } from '../../build/cjs/stores/etcd/connection/protocol.js';
import { guardAgainstOrphan, privateFolder, stopper } from '../harness/private-folder.mjs';
import { StoreStats } from './store-stats.mjs';

export const title = 'etcd';
export const candidates = ['etcd-floor', 'etcd-ours', 'etcd-v3lock'];
/** M1 against the floor, M4 against the best peer. */
export const goals = { free: 0.8, fourProcesses: 5 };
export const costs = [
  ['requests/hold', 'requests'],
  ['raft writes/hold', 'writes'],
];

/** Starts one member with default settings: a write is on disk before the reply. */
export async function openServer(program) {
  const folder = privateFolder();
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
  guardAgainstOrphan(server, folder);
  const endpoint = await connectedTo(`127.0.0.1:${port}`);
  return {
    url: `127.0.0.1:${port}`,
    stats: new EtcdStats(endpoint, client, server.pid),
    stop: stopper(server, folder),
  };
}

/** Connects as soon as the member serves. */
async function connectedTo(address) {
  for (let left = 300; ; left--) {
    const endpoint = new Endpoint(address, channelCredentials(undefined), undefined, 30_000);
    try {
      await endpoint.open(1_000);
      return endpoint;
    } catch (error) {
      endpoint.cut(error);
      if (left === 0) throw error;
      await setTimeout(100);
    }
  }
}

class EtcdStats extends StoreStats {
  #endpoint;
  #url;

  constructor(endpoint, url, pid) {
    super(pid);
    this.#endpoint = endpoint;
    this.#url = url;
  }

  async empty() {
    const prefixes = ['distributed-lock/l', 'floor/', 'v3lock/'];
    const deleted = prefixes.map((key) => ({ do: 'delete', key, end: `${key}\u{10ffff}` }));
    await this.#endpoint.call(methods.transaction, { do: 'txn', if: [], then: deleted, else: [] });
  }

  async version() {
    return (await this.#endpoint.call(methods.status, undefined)).version;
  }

  /**
   * After a compaction, which operators schedule.
   *
   * @returns {Promise<import('./store-stats.mjs').StoreSize>}
   */
  async size() {
    const all = { key: 'AA==', range_end: 'AA==', count_only: true };
    const { header, count = 0 } = await this.#post('kv/range', all);
    // The last revision may be compacted already.
    await this.#post('kv/compaction', { revision: header.revision, physical: true });
    await this.#post('maintenance/defragment', {});
    const sum = await this.#metrics();
    return {
      entries: Number(count),
      bytes: sum('etcd_mvcc_db_total_size_in_use_in_bytes'),
      connections: undefined,
    };
  }

  async #post(method, request) {
    const reply = await fetch(`${this.#url}/v3/${method}`, { method: 'POST', body: JSON.stringify(request) });
    return await reply.json();
  }

  async #metrics() {
    const text = await (await fetch(`${this.#url}/metrics`)).text();
    return (name) =>
      [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].reduce(
        (all, [, value]) => all + Number(value),
        0,
      );
  }

  /** From the metrics of etcd: started requests, and entries of the raft log. */
  async look() {
    const sum = await this.#metrics();
    return {
      requests: sum('grpc_server_started_total'),
      writes: sum('etcd_server_proposals_committed_total'),
    };
  }
}
