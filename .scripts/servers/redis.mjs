import { freePort } from './free-port.mjs';
import { whenReady } from './processes.mjs';

const ATTEMPTS = 10;

/** What redis-server and sentinels print when they are ready. A sentinel logs its id last. */
export const REDIS_READY = /Ready to accept connections|Sentinel ID is/;
export const PORT_TAKEN = /bind|Address already in use|listening socket/i;

/**
 * The command line of a redis-server on the loopback interface, without persistence.
 *
 * @param {{ port: number, folder: string }} server
 */
export function redisArguments({ port, folder }) {
  const settings = { bind: '127.0.0.1', port, dir: folder, save: '', appendonly: 'no' };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]);
}

/**
 * Starts a redis-server on a free port.
 *
 * @param {string} folder
 * @param {(args: string[]) => import('node:child_process').ChildProcess} launch
 * @returns {Promise<{ url: string, child: import('node:child_process').ChildProcess }>}
 */
export async function startRedis(folder, launch) {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const child = launch(redisArguments({ port, folder }));
    const { isReady, output } = await whenReady(child, REDIS_READY);
    if (isReady) return { url: `redis://127.0.0.1:${port}`, child };
    // Another process may have taken the port since the check.
    if (!PORT_TAKEN.test(output) || attempt === ATTEMPTS) throw new Error(`redis-server ended:\n${output}`);
  }
}
