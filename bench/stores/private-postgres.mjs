import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** It does not run as root. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

/** Ends the server when this process dies without having done so: a shell that waits for the end of its input. */
function guardAgainstOrphan(server, folder) {
  const script = 'read -r _ || { kill -9 "$1" 2>/dev/null; rm -rf "$2"; }';
  const guard = spawn('sh', ['-c', script, 'guard', `${server.pid}`, folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.unref();
  guard.stdin.unref();
  guard.stdin.on('error', () => undefined);
  server.once('exit', () => guard.stdin.end('done\n'));
}

/**
 * A PostgreSQL of the benchmark's own: loopback only, on a free port, with the settings that it comes with, but for those
 * without which it could not be measured.
 *
 * @param {{ programs: string, libraries?: string }} where
 * @returns {Promise<{ url: string, pid: number, stop: () => void }>}
 */
export async function startPrivatePostgres({ programs, libraries }) {
  const folder = mkdtempSync(join(tmpdir(), 'lock-bench-'));
  if (NOBODY.uid !== undefined) chownSync(folder, NOBODY.uid, NOBODY.gid);
  const env = { ...process.env, ...(libraries && { LD_LIBRARY_PATH: libraries }) };
  const how = { ...NOBODY, cwd: folder, env };
  const data = join(folder, 'data');
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C'];
  execFileSync(join(programs, 'initdb'), initdb, { ...how, stdio: 'ignore' });
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '300',
    // What counts the statements.
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
    server.once('exit', () => reject(new Error(`PostgreSQL ended at once:\n${output}`)));
  });
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    pid: server.pid,
    stop() {
      server.kill('SIGQUIT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
