import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync } from 'node:fs';
import { join } from 'node:path';

/** PostgreSQL refuses to run as root: it gets the user `nobody`. */
export const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

export const POSTGRES_READY = /ready to accept (read[- ]only )?connections/;

/** @param {number} port */
export const postgresUrl = (port) => `postgres://postgres@127.0.0.1:${port}/postgres`;

/**
 * The command line of `initdb`, for a database that trusts every user of this machine.
 *
 * @param {string} data the folder to create
 */
export const initdbArguments = (data) => [
  '-D',
  data,
  '-U',
  'postgres',
  '-A',
  'trust',
  '-E',
  'UTF8',
  '--locale=C',
  '--no-sync',
];

/**
 * The command line of `postgres` on the loopback interface.
 *
 * @param {string} data
 * @param {number} port
 * @param {Readonly<Record<string, string>>} [settings]
 * @returns {string[]}
 */
export function postgresArguments(data, port, settings = {}) {
  const all = { listen_addresses: '127.0.0.1', unix_socket_directories: '', ...settings };
  const given = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return ['-D', data, '-p', `${port}`, ...given];
}

/**
 * Creates an empty database in a folder.
 *
 * @param {{ programs: string, libraries?: string }} installed see `ensurePostgres`
 * @param {string} folder
 * @returns {{ data: string, how: import('node:child_process').SpawnOptions }} `how`: options for starting the server
 */
export function createDatabase({ programs, libraries }, folder) {
  if (NOBODY.uid !== undefined) chownSync(folder, NOBODY.uid, NOBODY.gid);
  const env = { ...process.env, ...(libraries && { LD_LIBRARY_PATH: libraries }) };
  const how = { ...NOBODY, cwd: folder, env };
  const data = join(folder, 'data');
  execFileSync(join(programs, 'initdb'), initdbArguments(data), { ...how, stdio: 'ignore' });
  return { data, how };
}

/**
 * Sends a signal to a server and its child processes, as far as they still exist.
 *
 * @param {number} pid of the server
 * @param {NodeJS.Signals} signal
 */
export function signalPostgres(pid, signal) {
  // Otherwise it would start new child processes.
  if (signal !== 'SIGCONT') send(pid, 'SIGSTOP');
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', `${pid}`], { encoding: 'utf8' });
  const children = stdout.split('\n').map(Number).filter(Boolean);
  for (const one of [...children, pid]) send(one, signal);
}

function send(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
