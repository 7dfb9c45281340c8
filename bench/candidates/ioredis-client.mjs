import { once } from 'node:events';
import { Redis } from 'ioredis';

/** Connects an ioredis client with default options, for the floor and the peers. */
export async function connectIoredis(url) {
  const client = new Redis(url);
  // Without a listener, ioredis prints an error for every connection when the server stops.
  client.on('error', () => undefined);
  await once(client, 'ready');
  return client;
}
