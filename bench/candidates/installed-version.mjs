import { existsSync, readFileSync } from 'node:fs';

/** The packages of the benchmark, then those of this library. */
const FOLDERS = ['../node_modules', '../../node_modules'];

/** The installed version of a package. Read from its file, since not every package exports its package.json. */
export function installedVersion(name) {
  const files = FOLDERS.map((folder) => new URL(`${folder}/${name}/package.json`, import.meta.url));
  const file = files.find((each) => existsSync(each));
  if (file === undefined) throw new Error(`${name} is not installed.`);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}
