import { execFileSync, spawn } from 'node:child_process';
import { chownSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../.scripts/free-port.mjs';
import { guardAgainstOrphan, privateFolder, stopper } from '../harness/private-folder.mjs';

/** PostgreSQL refuses to run as root. */
const UNPRIVILEGED = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/**
 * Starts a private PostgreSQL server: loopback only, on a free port, with default settings except for those that the
 * measurements need.
 *
 * @param {{ programs: string, libraries?: string }} where
 * @returns {Promise<{ url: string, pid: number, stop: () => void }>}
 */
export async function startPrivatePostgres({ programs, libraries }) {
  const folder = privateFolder();
  if (UNPRIVILEGED.uid !== undefined) chownSync(folder, UNPRIVILEGED.uid, UNPRIVILEGED.gid);
  const env = { ...process.env, ...(libraries && { LD_LIBRARY_PATH: libraries }) };
  const how = { ...UNPRIVILEGED, cwd: folder, env };
  const data = join(folder, 'data');
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C'];
  execFileSync(join(programs, 'initdb'), initdb, { ...how, stdio: 'ignore' });
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '300',
    // Counts the statements.
    shared_preload_libraries: 'pg_stat_statements',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = spawn(join(programs, 'postgres'), ['-D', data, '-p', `${port}`, ...args], {
    ...how,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  guardAgainstOrphan(server, folder);
  await new Promise((resolve, reject) => {
    let output = '';
    server.stderr.setEncoding('utf8').on('data', (text) => {
      output = (output + text).slice(-10_000);
      if (output.includes('ready to accept connections')) resolve();
    });
    server.once('exit', () => reject(new Error(`PostgreSQL ended immediately:\n${output}`)));
  });
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    pid: server.pid,
    stop: stopper(server, folder, 'SIGQUIT'),
  };
}
