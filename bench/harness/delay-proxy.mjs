import { Actor } from './actor.mjs';

/**
 * The network between a client and a server that are far from each other: a proxy, in a process of its own so that it
 * takes no time from the others, that holds everything back for a while in both directions.
 *
 * @param {string} url of the server
 * @param {number} delayMs each way
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export async function startDelayProxy(url, delayMs) {
  const actor = new Actor('delay-proxy.mjs');
  const port = await actor.call('open', Number(new URL(url).port), delayMs);
  return { url: `redis://127.0.0.1:${port}`, close: () => actor.kill() };
}
