import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * The file that `import` loads for an entry of a package, by its `exports`: versions of this package have different layouts.
 *
 * @param {string} folder the folder of the package
 * @param {string} [entry] such as `./etcd`
 * @returns {string} its URL
 */
export function entryOf(folder, entry = '.') {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return pathToFileURL(join(folder, exports[entry].import.default)).href;
}
