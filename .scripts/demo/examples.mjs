import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prepareApplication, startInstance } from './application.mjs';

/** The folder with all examples, which have their dependencies in common. */
export const examples = fileURLToPath(new URL('../../examples', import.meta.url));

/** The names of all examples: the folders with a `src/main.ts`. */
export function exampleNames() {
  return readdirSync(examples)
    .filter((name) => existsSync(join(examples, name, 'src/main.ts')))
    .sort();
}

/** The compiled program of an example, relative to the folder of all examples. */
export function programOf(name) {
  return `dist/${name}/src/main.js`;
}

/** Installs and builds the library and all examples, if anything has changed. */
export function prepareExamples({ leftovers, log }) {
  return prepareApplication({
    folder: examples,
    title: 'the examples',
    sources: exampleNames().map((name) => `${name}/src`),
    leftovers,
    log,
  });
}

/**
 * Starts a process of an example on a free port.
 *
 * @param {{ name: string, env: Record<string, string>, leftovers: import('./leftovers.mjs').Leftovers }} options
 * @returns {Promise<import('./application.mjs').Instance>}
 */
export function startExample({ name, env, leftovers }) {
  return startInstance({
    folder: examples,
    script: programOf(name),
    name,
    env: { ...env, PORT: '0' },
    leftovers,
  });
}
