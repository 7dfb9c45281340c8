import { fileURLToPath } from 'node:url';
import { prepareApplication, startInstance as start } from './application.mjs';

export const sampleApp = fileURLToPath(new URL('../../sample-app', import.meta.url));

/** Installs and builds the library and the sample app, if anything has changed. */
export function prepareSampleApp({ leftovers, log }) {
  return prepareApplication({
    folder: sampleApp,
    title: 'the sample app',
    sources: ['src'],
    leftovers,
    log,
  });
}

/**
 * Starts a process of the sample app on a free port.
 *
 * @typedef {import('./application.mjs').Instance} Instance
 *
 * @param {{ name: string, env: Record<string, string>, leftovers: import('./leftovers.mjs').Leftovers }} options
 * @returns {Promise<Instance>}
 */
export function startInstance({ name, env, leftovers }) {
  return start({
    folder: sampleApp,
    script: 'dist/main.js',
    name,
    env: { HOST: '127.0.0.1', ...env, PORT: '0' },
    leftovers,
  });
}
