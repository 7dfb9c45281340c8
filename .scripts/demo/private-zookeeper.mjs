import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { freePort } from '../free-port.mjs';
import { ensureZooKeeper } from '../setup-zookeeper.mjs';

const IDS = [1, 2, 3];
const ATTEMPTS = 600;

/** `leader`, `follower`, or undefined for a member that does not serve requests. */
async function modeOf({ port }) {
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(1_000, () => socket.destroy());
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk)).on('error', () => undefined);
  socket.write('srvr');
  await new Promise((resolve) => socket.once('close', resolve));
  return /^Mode: (\w+)/m.exec(answer)?.[1];
}

function configure(directory, { id, port }, members) {
  const data = join(directory, 'data');
  mkdirSync(data, { recursive: true });
  writeFileSync(join(data, 'myid'), `${id}`);
  const lines = {
    dataDir: data,
    clientPort: port,
    clientPortAddress: '127.0.0.1',
    tickTime: 500,
    initLimit: 20,
    syncLimit: 4,
    maxSessionTimeout: 60_000,
    'admin.enableServer': false,
    ...Object.fromEntries(
      members.map((each) => [`server.${each.id}`, `127.0.0.1:${each.quorum}:${each.election}`]),
    ),
  };
  const file = join(directory, 'zoo.cfg');
  writeFileSync(
    file,
    Object.entries(lines)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  return file;
}

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
    members.push({ id, port: await freePort(), quorum: await freePort(), election: await freePort() });
  }
  for (const member of members) {
    const directory = join(folder, `zookeeper-${member.id}`);
    const args = [
      ...['-Xmx128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dzookeeper.cnxTimeout=500'],
      ...['-cp', join(libraries, '*'), 'org.apache.zookeeper.server.quorum.QuorumPeerMain'],
      configure(directory, member, members),
    ];
    member.child = leftovers.spawn('java', args, { cwd: directory }).child;
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
