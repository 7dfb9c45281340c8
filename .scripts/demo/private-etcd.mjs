import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { etcdArguments, leadsEtcd } from '../servers/etcd.mjs';
import { freePort } from '../servers/free-port.mjs';
import { ensureEtcd } from '../setup-etcd.mjs';
import { SetupError } from '../setup.mjs';
import { isRunning } from './leftovers.mjs';

const START_MS = 20_000;
const ELECTION_MS = 60_000;

/** Whether the member serves requests, which needs a leader and a majority. */
async function isHealthy({ port }) {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
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
    members.push({ name: `member-${number}`, port: await freePort(), peerPort: await freePort() });
  }
  const started = members.map((member) => {
    const args = etcdArguments(member, join(folder, `etcd-${member.name}`), members);
    return { ...member, ...leftovers.spawn(program, args, { cwd: folder }) };
  });
  await serves(started, START_MS, leftovers.signal);
  return {
    hosts: members.map(({ port }) => `127.0.0.1:${port}`).join(','),
    async killLeader() {
      const isLeader = await Promise.all(started.map(leadsEtcd));
      const leader = started[isLeader.indexOf(true)] ?? started[0];
      const ended = once(leader.child, 'exit');
      leader.child.kill('SIGKILL');
      await ended;
      const others = started.filter((member) => member !== leader);
      await serves(others, ELECTION_MS, leftovers.signal);
    },
  };
}
