/** Fetches Redisson, and compiles the Java programs of tests, examples and benchmark. Plain Node without dependencies. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SetupError, toStderr } from './setup.mjs';
import { fetchLibraries, hasLibrary, works } from './setup-java.mjs';
import { CACHE as UNPACKED } from './unpacked-programs.mjs';

/** The newest releases of both major versions. */
const VERSIONS = ['3.52.0', '4.7.0'];
const TEST_CLIENT = fileURLToPath(new URL('../test/interop/LockClient.java', import.meta.url));

/**
 * Fetches a version of Redisson by Maven, unless it is in the cache, and compiles programs that use it.
 *
 * @param {{ version?: string, programs?: readonly string[], log?: (line: string) => void, required?: boolean }} [options]
 *   `required` (default false): throw if Java or Maven is missing
 * @returns {{ classPath: string, version: string } | null} null, after logging the reason, if Java or Maven is missing
 * @throws {SetupError} which says what to install
 */
export function ensureRedisson({
  version = VERSIONS.at(-1),
  programs = [TEST_CLIENT],
  log = toStderr,
  required = false,
} = {}) {
  const without = (why) => {
    if (required) throw new SetupError(`Redisson can't be used here: ${why}`);
    log(`Tests with Redisson are skipped: ${why}`);
    return null;
  };
  if (!works('javac', '-version')) return without('there is no Java compiler. Install a JDK, 17 or newer.');
  const libraries = join(UNPACKED, `redisson-${version}`);
  const hasRedisson = hasLibrary('redisson-');
  const dependencies = [['org.redisson', 'redisson', version]];
  if (!hasRedisson(libraries) && !fetchLibraries(dependencies, libraries, hasRedisson, log)) {
    return without('it could not be fetched. Install Maven.');
  }
  const classes = join(libraries, 'classes');
  if (!works('javac', '-cp', join(libraries, '*'), '-d', classes, ...programs)) {
    return without('a program that uses it could not be compiled. Install a JDK, 17 or newer.');
  }
  return { classPath: [classes, join(libraries, '*')].join(':'), version };
}

/**
 * The test client on every supported version.
 *
 * @returns {string | undefined} class paths by version, as JSON for `REDISSON_CLASS_PATHS`; undefined without Java
 */
export function ensureRedissonClients() {
  const found = [];
  for (const version of VERSIONS) {
    const redisson = ensureRedisson({ version });
    if (redisson === null) return undefined;
    found.push([version, redisson.classPath]);
  }
  return JSON.stringify(Object.fromEntries(found));
}
