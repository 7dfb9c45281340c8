import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { ensureEtcd } from '../setup-etcd.mjs';

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

async function isHealthy(url) {
  try {
    return (await fetch(`${url}/health`)).ok;
  } catch {
    return false;
  }
}

/**
 * Starts an etcd of the demo's own: loopback only, in its folder.
 *
 * @returns {Promise<string>} where it listens, `host:port`
 */
export async function startPrivateEtcd(folder, leftovers, log) {
  const program = ensureEtcd({ log });
  await leftovers.checkpoint();
  const [port, peerPort] = [await freePort(), await freePort()];
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  const options = {
    name: 'demo',
    'data-dir': join(folder, 'etcd'),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `demo=${peer}`,
    'log-level': 'error',
  };
  const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`);
  const server = leftovers.spawn(program, args, { cwd: folder, stdio: 'ignore' });
  for (let attempt = 0; !(await isHealthy(client)); attempt++) {
    if (server.exitCode !== null || attempt === 200) throw new Error('etcd did not start');
    await elapse(100);
  }
  return `127.0.0.1:${port}`;
}
