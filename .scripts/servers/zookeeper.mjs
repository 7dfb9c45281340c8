import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

/** @typedef {{ id: number, port: number, peers: string }} ZooKeeperMember `peers`: `host:port:port` for the others */

/**
 * Configures a server of ZooKeeper on the loopback interface, and returns the command line for `java`.
 *
 * @param {object} server
 * @param {string} server.libraries the folder of its libraries
 * @param {string} server.folder for its configuration and data
 * @param {number} server.port
 * @param {Readonly<Record<string, unknown>>} [server.settings] lines of the configuration
 * @param {readonly string[]} [server.java] options for Java
 * @param {number} [server.id] its id in the ensemble
 * @param {readonly ZooKeeperMember[]} [server.members] the servers of the ensemble
 * @returns {string[]}
 */
export function zooKeeperArguments({ libraries, folder, port, settings = {}, java = [], id, members = [] }) {
  const data = join(folder, 'data');
  mkdirSync(data, { recursive: true });
  if (id !== undefined) writeFileSync(join(data, 'myid'), `${id}`);
  const lines = {
    dataDir: data,
    clientPort: port,
    clientPortAddress: '127.0.0.1',
    'admin.enableServer': false,
    ...settings,
    ...Object.fromEntries(members.map((member) => [`server.${member.id}`, member.peers])),
  };
  const file = join(folder, 'zoo.cfg');
  const text = Object.entries(lines).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(file, text.join(''));
  return [...java, '-cp', join(libraries, '*'), 'org.apache.zookeeper.server.quorum.QuorumPeerMain', file];
}

/** Options for short tests and the demo: a small, quickly started server, and elections that don't wait for stopped members. */
export const SMALL_JAVA = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dzookeeper.cnxTimeout=500'];

/**
 * Sends one of the four-letter commands.
 *
 * @param {{ port: number }} server
 * @param {string} [command]
 * @returns {Promise<string>} empty while the server is unreachable
 */
export async function askZooKeeper({ port }, command = 'srvr') {
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(1_000, () => socket.destroy());
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk)).on('error', () => undefined);
  socket.write(command);
  await new Promise((resolve) => socket.once('close', resolve));
  return answer;
}

/**
 * `standalone`, `leader` or `follower`; undefined for a server that does not serve.
 *
 * @param {{ port: number }} server
 * @returns {Promise<string | undefined>}
 */
export async function modeOf(server) {
  return /^Mode: (\w+)/m.exec(await askZooKeeper(server))?.[1];
}
