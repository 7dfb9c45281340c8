import { once } from 'node:events';
import { createServer } from 'node:net';

/** @returns {Promise<number>} a port of the loopback interface that is currently free */
export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}
