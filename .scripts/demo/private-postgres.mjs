import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from '../free-port.mjs';
import { ensurePostgres } from '../setup-postgres.mjs';
import { readyLine } from './ready-line.mjs';

/** PostgreSQL refuses to run as root. */
const UNPRIVILEGED = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

const READY = {
  name: 'postgres',
  pattern: /ready to accept connections/,
  within: 20_000,
  stream: 'stderr',
};

/**
 * Starts a private PostgreSQL: loopback only, in the folder of the demo.
 *
 * @returns {Promise<{ url: string, killAndStart: () => Promise<void> }>} `killAndStart`: kills all its processes, as a power
 *   failure would, and starts it again with its committed data
 */
export async function startPrivatePostgres(folder, leftovers, log) {
  const { programs, libraries } = ensurePostgres({ log });
  await leftovers.checkpoint();
  const directory = join(folder, 'postgres');
  mkdirSync(directory, { mode: 0o755 });
  if (UNPRIVILEGED.uid !== undefined) {
    // Its user needs access to the parent folder, too.
    chownSync(folder, UNPRIVILEGED.uid, UNPRIVILEGED.gid);
    chownSync(directory, UNPRIVILEGED.uid, UNPRIVILEGED.gid);
  }
  const env = { ...process.env, ...(libraries && { LD_LIBRARY_PATH: libraries }) };
  const data = join(directory, 'data');
  const how = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  execFileSync(join(programs, 'initdb'), how, { ...UNPRIVILEGED, cwd: directory, env, stdio: 'ignore' });
  const port = await freePort();
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories='].flatMap((one) => ['-c', one]);
  const start = async () => {
    const server = leftovers.spawn(join(programs, 'postgres'), ['-D', data, '-p', `${port}`, ...settings], {
      ...UNPRIVILEGED,
      cwd: directory,
      env,
    });
    await readyLine(server, READY);
    return server.child;
  };
  let server = await start();
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async killAndStart() {
      await killAll(server);
      server = await start();
    },
  };
}

async function killAll(server) {
  // Otherwise the server would restart its child processes.
  server.kill('SIGSTOP');
  const children = execFileSync('ps', ['-o', 'pid=', '--ppid', `${server.pid}`], { encoding: 'utf8' });
  for (const pid of children.split('\n').map(Number).filter(Boolean)) process.kill(pid, 'SIGKILL');
  const ended = once(server, 'exit');
  server.kill('SIGKILL');
  await ended;
}
