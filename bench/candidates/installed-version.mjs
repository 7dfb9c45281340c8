import { readFileSync } from 'node:fs';

/**
 * The version of a package that is installed for the benchmark. Read from its file, since not every package exports it.
 *
 * @param {string} name
 * @returns {string}
 */
export function installedVersion(name) {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}
