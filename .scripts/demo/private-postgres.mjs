import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../servers/free-port.mjs';
import {
  initdbArguments,
  NOBODY,
  POSTGRES_READY,
  postgresArguments,
  postgresUrl,
  signalPostgres,
} from '../servers/postgres.mjs';
import { ensurePostgres } from '../setup-postgres.mjs';
import { readyLine } from './ready-line.mjs';

const READY = { name: 'postgres', pattern: POSTGRES_READY, within: 20_000, stream: 'stderr' };

/**
 * Starts a private PostgreSQL: loopback only, in the folder of the demo.
 *
 * @returns {Promise<{ url: string, killAndStart: () => Promise<void> }>} `killAndStart`: kills all its processes, as a power
 *   failure would, and starts it again with its committed data
 */
export async function startPrivatePostgres(folder, leftovers, log) {
  const { programs, libraries } = ensurePostgres({ log });
  await leftovers.checkpoint();
  const cwd = join(folder, 'postgres');
  mkdirSync(cwd, { mode: 0o755 });
  if (NOBODY.uid !== undefined) {
    // Its user needs access to the parent folder, too.
    for (const path of [folder, cwd]) chownSync(path, NOBODY.uid, NOBODY.gid);
  }
  const how = { ...NOBODY, cwd, env: { ...process.env, ...(libraries && { LD_LIBRARY_PATH: libraries }) } };
  const data = join(cwd, 'data');
  execFileSync(join(programs, 'initdb'), initdbArguments(data), { ...how, stdio: 'ignore' });
  const port = await freePort();
  const start = async () => {
    const server = leftovers.spawn(join(programs, 'postgres'), postgresArguments(data, port), how);
    await readyLine(server, READY);
    return server.child;
  };
  let server = await start();
  return {
    url: postgresUrl(port),
    async killAndStart() {
      const ended = once(server, 'exit');
      signalPostgres(server.pid, 'SIGKILL');
      await ended;
      server = await start();
    },
  };
}
