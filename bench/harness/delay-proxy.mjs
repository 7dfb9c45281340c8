import { Actor } from './actor.mjs';

/**
 * Simulates a slow network by a proxy that delays all data in both directions. It runs in its own process, so that it
 * does not slow down the others.
 *
 * Delays nothing before `delay` is called, so that candidates can warm up: at the low rate of a slow network, their code
 * would be measured before it is compiled.
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
