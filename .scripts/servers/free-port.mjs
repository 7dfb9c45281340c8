import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * A free loopback port below the ranges that Linux and macOS use for outgoing connections: a port that must be bound again
 * after a restart must not become a client port meanwhile.
 *
 * @returns {Promise<number>}
 */
export async function freePort() {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    if (await canListen(port)) return port;
  }
}

function canListen(port) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
