import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { freePort } from '../free-port.mjs';
import { ensureEtcd } from '../setup-etcd.mjs';
import { SetupError } from '../setup.mjs';
import { isRunning } from './leftovers.mjs';

const START_MS = 20_000;
const ELECTION_MS = 60_000;

/** Whether the member serves requests, which needs a leader and a majority. */
async function isHealthy({ client }) {
  try {
    return (await fetch(`${client}/health`, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}

async function leads({ client }) {
  const request = { method: 'POST', body: '{}', signal: AbortSignal.timeout(2_000) };
  const { header, leader } = await (await fetch(`${client}/v3/maintenance/status`, request)).json();
  return header.member_id === leader;
}

async function serves(members, within, signal) {
  const end = performance.now() + within;
  for (;;) {
    signal.throwIfAborted();
    const healthy = await Promise.all(members.map(isHealthy));
    if (healthy.every(Boolean)) return;
    const dead = members.find(({ child }) => !isRunning(child));
    if (dead !== undefined || performance.now() > end) {
      const why = dead === undefined ? `did not serve within ${within / 1_000} s` : 'ended at its start';
      throw new SetupError(`etcd ${why}. Its last output:\n${(dead ?? members[0]).output()}`);
    }
    await elapse(20);
  }
}

function start(member, { program, cluster, folder, leftovers }) {
  const { name, client, peer } = member;
  const options = {
    name,
    'data-dir': join(folder, `etcd-${name}`),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': cluster,
    'log-level': 'error',
  };
  const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`);
  return { ...member, ...leftovers.spawn(program, args, { cwd: folder }) };
}

/**
 * Starts a private etcd: loopback only, in the folder of the demo.
 *
 * @param {number} count number of members
 * @returns {Promise<{ hosts: string, killLeader: () => Promise<void> }>} `hosts`: comma-separated; `killLeader`: resolves
 *   when the remaining members serve again
 */
export async function startPrivateEtcd(count, folder, leftovers, log) {
  const program = ensureEtcd({ log });
  await leftovers.checkpoint();
  const members = [];
  for (let number = 1; number <= count; number++) {
    const [port, peerPort] = [await freePort(), await freePort()];
    const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
    members.push({ name: `member-${number}`, host: `127.0.0.1:${port}`, client, peer });
  }
  const cluster = members.map(({ name, peer }) => `${name}=${peer}`).join(',');
  const started = members.map((member) => start(member, { program, cluster, folder, leftovers }));
  await serves(started, START_MS, leftovers.signal);
  return {
    hosts: members.map(({ host }) => host).join(','),
    async killLeader() {
      const isLeader = await Promise.all(started.map(leads));
      const leader = started[isLeader.indexOf(true)] ?? started[0];
      const ended = once(leader.child, 'exit');
      leader.child.kill('SIGKILL');
      await ended;
      await serves(
        started.filter((member) => member !== leader),
        ELECTION_MS,
        leftovers.signal,
      );
    },
  };
}
