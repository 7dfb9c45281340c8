import { existsSync, readFileSync } from 'node:fs';

/** The peers and their client; where those are not needed, what the library itself is installed with. */
const FOLDERS = ['../node_modules', '../../node_modules'];

/**
 * The version of a package that is installed for the benchmark. Read from its file, since not every package exports it.
 *
 * @param {string} name
 * @returns {string}
 */
export function installedVersion(name) {
  const files = FOLDERS.map((folder) => new URL(`${folder}/${name}/package.json`, import.meta.url));
  const file = files.find((each) => existsSync(each));
  if (file === undefined) throw new Error(`${name} is not installed.`);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}
