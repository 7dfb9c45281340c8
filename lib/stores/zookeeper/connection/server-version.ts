import type { ConnectionOptions } from 'node:tls';
import { connectTo, type ZooKeeperHost } from './server-socket.js';

/** How long the answer may take, ms: whoever asks can do without it. */
const PATIENCE = 2_000;

/**
 * The version of a server, such as `3.9.3`, by the one of its commands of four letters that its own scripts need; undefined
 * if it does not tell.
 */
export function versionOf(
  host: ZooKeeperHost,
  tls: ConnectionOptions | undefined,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connectTo(host, tls);
    const timer = setTimeout(() => socket.destroy(), PATIENCE);
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    // The end of the connection tells all that there is to tell.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(/^Zookeeper version: (\d+(?:\.\d+)+)/m.exec(answer)?.[1]);
    });
    socket.write('srvr');
  });
}
