import { once } from 'node:events';
import { Redis } from 'ioredis';

/**
 * An ioredis client with its default options, connected: what the floor and the peers are given.
 *
 * @param {string} url
 * @returns {Promise<Redis>}
 */
export async function connectIoredis(url) {
  const client = new Redis(url);
  // Without a listener ioredis prints every connection that ends when the server goes away.
  client.on('error', () => undefined);
  await once(client, 'ready');
  return client;
}
