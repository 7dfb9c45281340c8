import { spawn } from 'node:child_process';
import { guardAgainstOrphans } from '../../.scripts/servers/processes.mjs';
import { startRedis } from '../../.scripts/servers/redis.mjs';
import { privateFolder, stopper } from './private-folder.mjs';

/**
 * Starts a private Redis server: loopback only, on a free port, without persistence.
 *
 * @param {string} program path of redis-server
 */
export async function startPrivateRedis(program) {
  const folder = privateFolder();
  const { url, child } = await startRedis(folder, (args) => {
    const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    guardAgainstOrphans(server, folder);
    return server;
  });
  return { url, stop: stopper(child, folder) };
}
