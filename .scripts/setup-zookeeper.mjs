/** Finds or fetches ZooKeeper and Curator for tests, demo and benchmark. Plain Node without dependencies. */
import { join } from 'node:path';
import { fetchLibraries, hasLibrary, works } from './setup-java.mjs';
import { SetupError, toStderr } from './setup.mjs';
import { CACHE as UNPACKED } from './unpacked-programs.mjs';

const VERSION = '3.9.3';

const cacheOf = (version) => join(UNPACKED, version === VERSION ? 'zookeeper' : `zookeeper-${version}`);

/** The server, and the dependencies that its POM does not declare. */
const librariesOf = (version) => [
  ['org.apache.zookeeper', 'zookeeper', version],
  ['io.dropwizard.metrics', 'metrics-core', '4.1.12.1'],
  ['org.xerial.snappy', 'snappy-java', '1.1.10.5'],
];

/** The lock library of ZooKeeper users, for the benchmark. */
const CURATOR = [['org.apache.curator', 'curator-recipes', '5.7.1']];
const CURATOR_CACHE = join(UNPACKED, 'zookeeper-curator');

const hasServer = hasLibrary('zookeeper-3');
const hasCurator = hasLibrary('curator-recipes-');

/**
 * Finds the libraries of the ZooKeeper server in the folder `ZOOKEEPER_LIBRARIES` or in the cache. Otherwise fetches them by
 * Maven. `ZOOKEEPER_VERSION` chooses the version.
 *
 * @param {{ version?: string, log?: (line: string) => void, required?: boolean }} [options] `version`: in place of
 *   `ZOOKEEPER_VERSION`; `required` (default false): throw if there are none
 * @returns {{ libraries: string } | null} null, after logging the reason, if Java or Maven is missing
 * @throws {SetupError} which says what to install; also if `ZOOKEEPER_LIBRARIES` does not contain the server
 */
export function ensureZooKeeper({
  version = process.env['ZOOKEEPER_VERSION'] || VERSION,
  log = toStderr,
  required = false,
} = {}) {
  const cache = cacheOf(version);
  const without = (why) => {
    if (required) throw new SetupError(`ZooKeeper can't be started here: ${why}`);
    log(`Tests of ZooKeeper are skipped: ${why}`);
    return null;
  };
  const named = process.env['ZOOKEEPER_LIBRARIES'];
  if (named && !hasServer(named)) {
    throw new SetupError(`ZOOKEEPER_LIBRARIES is set to ${named}, which does not contain zookeeper-*.jar.`);
  }
  if (!works('java', '-version')) {
    return without('there is no Java. Install a Java runtime, 11 or newer.');
  }
  if (named) return { libraries: named };
  if (hasServer(cache) || fetchLibraries(librariesOf(version), cache, hasServer, log))
    return { libraries: cache };
  return without(
    'its server could not be fetched. Install Maven, or set ZOOKEEPER_LIBRARIES to the folder lib of a ZooKeeper that ' +
      'you have unpacked.',
  );
}

/**
 * Fetches Curator, and compiles a program that uses it.
 *
 * @param {string} program a Java file
 * @returns {{ libraries: string, classes: string, version: string }}
 * @throws {SetupError} if the Java compiler or Maven is missing
 */
export function ensureCurator(program, { log = toStderr } = {}) {
  if (!hasCurator(CURATOR_CACHE) && !fetchLibraries(CURATOR, CURATOR_CACHE, hasCurator, log)) {
    throw new SetupError('Curator could not be fetched: install Maven.');
  }
  const classes = join(CURATOR_CACHE, 'classes');
  if (!works('javac', '-cp', join(CURATOR_CACHE, '*'), '-d', classes, program)) {
    throw new SetupError('A program for Curator could not be compiled: install a JDK, 11 or newer.');
  }
  return { libraries: CURATOR_CACHE, classes, version: CURATOR[0][2] };
}
