import { Actor } from './actor.mjs';

/**
 * The network between a client and a server that are far from each other: a proxy, in a process of its own so that it
 * takes no time from the others, that holds everything back for a while in both directions.
 *
 * Nothing is held back before `delay` is called, so that candidates can warm up: with so few holds a second, they would
 * be measured before their code is compiled.
 *
 * @param {string} url of the server
 * @returns {Promise<{ url: string, delay: (ms: number) => Promise<void>, close: () => Promise<void> }>} `ms`: each way
 */
export async function startDelayProxy(url) {
  const actor = new Actor('delay-proxy.mjs');
  const port = await actor.call('open', Number(new URL(url).port));
  return {
    url: `redis://127.0.0.1:${port}`,
    delay: (ms) => actor.call('delay', ms),
    close: () => actor.kill(),
  };
}
