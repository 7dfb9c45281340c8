import { once } from 'node:events';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { etcdArguments, roleInEtcd } from '../servers/etcd.mjs';
import { freePort } from '../servers/free-port.mjs';
import {
  createDatabase,
  NOBODY,
  POSTGRES_READY,
  postgresArguments,
  postgresUrl,
  signalPostgres,
} from '../servers/postgres.mjs';
import { modeOf, SMALL_JAVA, zooKeeperArguments } from '../servers/zookeeper.mjs';
import { ensureEtcd } from '../setup-etcd.mjs';
import { ensurePostgres } from '../setup-postgres.mjs';
import { ensureZooKeeper } from '../setup-java.mjs';
import { SetupError } from '../setup.mjs';
import { isRunning, untilReady } from './leftovers.mjs';

const ELECTION_MS = 60_000;

/**
 * @typedef {object} PrivateServer a server for demo and examples: loopback only, with its data in their folder
 * @property {string} url
 * @property {() => Promise<void>} kill as a power failure would; resolves when locks are granted again, with all committed data
 *
 * @typedef {import('./leftovers.mjs').Leftovers} Leftovers
 */

/** @returns {Promise<PrivateServer>} */
export async function startPrivatePostgres(folder, leftovers, log) {
  const installed = ensurePostgres({ log });
  await leftovers.checkpoint();
  const cwd = join(folder, 'postgres');
  mkdirSync(cwd, { mode: 0o755 });
  // Its user needs access to the parent folder, too.
  if (NOBODY.uid !== undefined) chownSync(folder, NOBODY.uid, NOBODY.gid);
  const { data, how } = createDatabase(installed, cwd);
  const port = await freePort();
  const start = async () => {
    const args = postgresArguments(data, port);
    const { child } = leftovers.spawn(join(installed.programs, 'postgres'), args, how);
    await untilReady('postgres', child, POSTGRES_READY);
    return child;
  };
  let server = await start();
  return {
    url: postgresUrl(port),
    async kill() {
      const ended = once(server, 'exit');
      signalPostgres(server.pid, 'SIGKILL');
      await ended;
      server = await start();
    },
  };
}

/** @returns {Promise<PrivateServer>} three members of etcd; `kill` ends the leader */
export async function startPrivateEtcd(folder, leftovers, log) {
  const program = ensureEtcd({ log });
  await leftovers.checkpoint();
  const members = [];
  for (const number of [1, 2, 3])
    members.push({ name: `etcd-${number}`, port: await freePort(), peerPort: await freePort() });
  return await startMembers(members, roleInEtcd, (member) =>
    leftovers.spawn(program, etcdArguments(member, join(folder, member.name), members), { cwd: folder }),
  );
}

const ZOOKEEPER_SETTINGS = { tickTime: 500, initLimit: 20, syncLimit: 4, maxSessionTimeout: 60_000 };

/** @returns {Promise<PrivateServer>} three members of ZooKeeper; `kill` ends the leader */
export async function startPrivateZooKeeper(folder, leftovers, log) {
  const { libraries } = ensureZooKeeper({ log, required: true });
  await leftovers.checkpoint();
  const members = [];
  for (const id of [1, 2, 3]) {
    const peers = `127.0.0.1:${await freePort()}:${await freePort()}`;
    members.push({ id, port: await freePort(), peers });
  }
  const java = ['-Xmx128m', ...SMALL_JAVA];
  return await startMembers(members, modeOf, (member) => {
    const cwd = join(folder, `zookeeper-${member.id}`);
    const server = { ...member, libraries, folder: cwd, settings: ZOOKEEPER_SETTINGS, java, members };
    return leftovers.spawn('java', zooKeeperArguments(server), { cwd });
  });
}

/**
 * @param {(member: { port: number }) => Promise<string | undefined>} roleOf `'leader'`, or undefined while it does not serve
 * @returns {Promise<PrivateServer>}
 */
async function startMembers(members, roleOf, launch) {
  const started = members.map((member) => ({ ...member, ...launch(member) }));
  await leaderOf(started, roleOf);
  return {
    url: members.map(({ port }) => `127.0.0.1:${port}`).join(','),
    async kill() {
      const leader = await leaderOf(started, roleOf);
      const ended = once(leader.child, 'exit');
      leader.child.kill('SIGKILL');
      await ended;
      const others = started.filter((member) => member !== leader);
      await leaderOf(others, roleOf);
    },
  };
}

/** The leader, as soon as all of these members serve. */
async function leaderOf(members, roleOf) {
  const end = performance.now() + ELECTION_MS;
  for (;;) {
    const roles = await Promise.all(members.map(roleOf));
    if (roles.includes('leader') && !roles.includes(undefined)) return members[roles.indexOf('leader')];
    const dead = members.find(({ child }) => !isRunning(child));
    if (dead !== undefined || performance.now() > end) {
      const { output } = dead ?? members[0];
      throw new SetupError(
        `The members of the store elected no leader. The last output of one:\n${output()}`,
      );
    }
    await elapse(50);
  }
}
