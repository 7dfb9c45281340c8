import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { freePort } from '../servers/free-port.mjs';
import { modeOf, SMALL_JAVA, zooKeeperArguments } from '../servers/zookeeper.mjs';
import { ensureZooKeeper } from '../setup-zookeeper.mjs';

const IDS = [1, 2, 3];
const ATTEMPTS = 600;
const SETTINGS = { tickTime: 500, initLimit: 20, syncLimit: 4, maxSessionTimeout: 60_000 };

/**
 * Starts a private ZooKeeper of three members: loopback only, in the folder of the demo.
 *
 * @returns {Promise<{ hosts: string, killLeader: () => Promise<void> }>} `hosts`: comma-separated; `killLeader`: resolves when
 *   another member leads
 */
export async function startPrivateZooKeeper(folder, leftovers, log) {
  const { libraries } = ensureZooKeeper({ log, required: true });
  await leftovers.checkpoint();
  const members = [];
  for (const id of IDS) {
    const peers = `127.0.0.1:${await freePort()}:${await freePort()}`;
    members.push({ id, port: await freePort(), peers });
  }
  for (const member of members) {
    const cwd = join(folder, `zookeeper-${member.id}`);
    const java = ['-Xmx128m', ...SMALL_JAVA];
    const args = zooKeeperArguments({ ...member, libraries, folder: cwd, settings: SETTINGS, java, members });
    member.child = leftovers.spawn('java', args, { cwd }).child;
  }
  const leading = async (candidates) => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const modes = await Promise.all(candidates.map(modeOf));
      if (!modes.includes(undefined) && modes.includes('leader')) return candidates[modes.indexOf('leader')];
      await elapse(50);
    }
    throw new Error('the members of ZooKeeper elected no leader');
  };
  await leading(members);
  return {
    hosts: members.map(({ port }) => `127.0.0.1:${port}`).join(','),
    async killLeader() {
      const leader = await leading(members);
      const ended = once(leader.child, 'exit');
      leader.child.kill('SIGKILL');
      await ended;
      await leading(members.filter((member) => member !== leader));
    },
  };
}
