import { spawnSync } from 'node:child_process';

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
