import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { freePort } from '../../.scripts/free-port.mjs';
import { guardAgainstOrphan, privateFolder, stopper } from './private-folder.mjs';

const ATTEMPTS = 10;

async function launch(program, port, folder) {
  const options = ['--save', '', '--appendonly', 'no', '--dir', folder, '--port', `${port}`];
  const server = spawn(program, ['--bind', '127.0.0.1', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  guardAgainstOrphan(server, folder);
  let output = '';
  for await (const text of server.stdout.setEncoding('utf8')) {
    output += text;
    if (output.includes('Ready to accept connections')) {
      server.stdout.resume();
      return server;
    }
    if (/Address already in use/i.test(output)) return undefined;
  }
  throw new Error(`redis-server ended immediately:\n${output}`);
}

/**
 * Starts a private Redis server: loopback only, on a free port, without persistence.
 *
 * @param {string} program path of redis-server
 * @returns {Promise<{ url: string, stop: () => void }>}
 */
export async function startPrivateRedis(program) {
  const folder = privateFolder();
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    // Another process may take the port between the probe and the start.
    const port = await freePort();
    const server = await launch(program, port, folder);
    if (server === undefined) continue;
    return {
      url: `redis://127.0.0.1:${port}`,
      stop: stopper(server, folder),
    };
  }
  rmSync(folder, { recursive: true, force: true });
  throw new Error(`redis-server found no free port in ${ATTEMPTS} attempts.`);
}
