import { spawn } from 'node:child_process';
import { freePort } from '../../.scripts/servers/free-port.mjs';
import { guardAgainstOrphans, whenReady } from '../../.scripts/servers/processes.mjs';
import { PORT_TAKEN, REDIS_READY, redisArguments } from '../../.scripts/servers/redis.mjs';
import { privateFolder, stopper } from './private-folder.mjs';

const ATTEMPTS = 10;

/**
 * Starts a private Redis server: loopback only, on a free port, without persistence.
 *
 * @param {string} program path of redis-server
 * @returns {Promise<{ url: string, stop: () => void }>}
 */
export async function startPrivateRedis(program) {
  const folder = privateFolder();
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const server = spawn(program, redisArguments({ port, folder }), { stdio: ['ignore', 'pipe', 'inherit'] });
    guardAgainstOrphans(server, folder);
    const { isReady, output } = await whenReady(server, REDIS_READY);
    if (isReady) return { url: `redis://127.0.0.1:${port}`, stop: stopper(server, folder) };
    // Another process may have taken the port since the check.
    if (!PORT_TAKEN.test(output) || attempt === ATTEMPTS) throw new Error(`redis-server ended:\n${output}`);
  }
}
