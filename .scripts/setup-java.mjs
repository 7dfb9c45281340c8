/** Finds or fetches ZooKeeper, Curator and Redisson, and compiles programs that use them. Plain Node without dependencies. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SetupError, toStderr } from './setup.mjs';
import { CACHE, createFolder } from './unpacked-programs.mjs';

const ZOOKEEPER = '3.9.3';
/** The server, and the dependencies that its POM does not declare. */
const zooKeeperOf = (version) => [
  ['org.apache.zookeeper', 'zookeeper', version],
  ['io.dropwizard.metrics', 'metrics-core', '4.1.12.1'],
  ['org.xerial.snappy', 'snappy-java', '1.1.10.5'],
];
/** The lock library of ZooKeeper users, for the benchmark. */
const CURATOR = ['org.apache.curator', 'curator-recipes', '5.7.1'];
/** The newest releases of both major versions. */
const REDISSON = ['3.52.0', '4.7.0'];
const TEST_CLIENT = fileURLToPath(new URL('../test/interop/LockClient.java', import.meta.url));

/** What is done without something: returns null after logging the reason, or throws. */
const without =
  (name, { log = toStderr, required = false }) =>
  (why) => {
    if (required) throw new SetupError(`${name} can't be used here: ${why}`);
    log(`Tests of ${name} are skipped: ${why}`);
    return null;
  };

function works(command, ...args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

function hasLibrary(folder, name) {
  return (
    existsSync(folder) && readdirSync(folder).some((file) => new RegExp(`^${name}-\\d.*\\.jar$`).test(file))
  );
}

/**
 * The folder of libraries in the cache. Fetches them by Maven unless they are there.
 *
 * @param {readonly (readonly [group: string, artifact: string, version: string])[]} libraries the first one names them
 * @returns {string | undefined} undefined if they can't be fetched
 */
function ensureLibraries(cache, libraries, log = toStderr) {
  const folder = join(CACHE, cache);
  const [[, name]] = libraries;
  if (hasLibrary(folder, name)) return folder;
  if (!works('mvn', '--version')) return undefined;
  log(`Fetching ${name} …`);
  const dependencies = libraries.map(
    ([group, artifact, version]) =>
      `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`,
  );
  const project =
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>' +
    '<groupId>tests</groupId><artifactId>libraries</artifactId><version>1</version>' +
    `<dependencies>${dependencies.join('')}</dependencies></project>`;
  const isFetched = createFolder(folder, (draft) => {
    writeFileSync(join(draft, 'pom.xml'), project);
    const fetched = join(draft, 'libraries');
    const args = ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${fetched}`];
    spawnSync('mvn', args, { cwd: draft, stdio: 'ignore' });
    return hasLibrary(fetched, name) && fetched;
  });
  return isFetched ? folder : undefined;
}

/** @returns {string | undefined} the folder of the classes */
function compile(programs, libraries) {
  const classes = join(libraries, 'classes');
  return works('javac', '-cp', join(libraries, '*'), '-d', classes, ...programs) ? classes : undefined;
}

/**
 * Finds the libraries of the ZooKeeper server in the folder `ZOOKEEPER_LIBRARIES` or in the cache, or fetches them.
 * `ZOOKEEPER_VERSION` chooses the version.
 *
 * @param {{ version?: string, log?: (line: string) => void, required?: boolean }} [options] `required` (default false): throw
 *   if it can't be had here
 * @throws {SetupError} which says what to install; also if `ZOOKEEPER_LIBRARIES` does not contain the server
 */
export function ensureZooKeeper(options = {}) {
  const { version = process.env['ZOOKEEPER_VERSION'] || ZOOKEEPER, log } = options;
  const named = process.env['ZOOKEEPER_LIBRARIES'];
  if (named && !hasLibrary(named, 'zookeeper')) {
    throw new SetupError(`ZOOKEEPER_LIBRARIES is set to ${named}, which does not contain zookeeper-*.jar.`);
  }
  const skip = without('ZooKeeper', options);
  if (!works('java', '-version')) return skip('there is no Java. Install a Java runtime, 11 or newer.');
  const cache = version === ZOOKEEPER ? 'zookeeper' : `zookeeper-${version}`;
  const libraries = named || ensureLibraries(cache, zooKeeperOf(version), log);
  if (libraries !== undefined) return { libraries };
  return skip(
    'its server could not be fetched. Install Maven, or set ZOOKEEPER_LIBRARIES to the folder lib of a ZooKeeper that ' +
      'you have unpacked.',
  );
}

/** Fetches Curator, and compiles a program that uses it. */
export function ensureCurator(program) {
  const libraries = ensureLibraries('zookeeper-curator', [CURATOR]);
  const classes = libraries && compile([program], libraries);
  if (classes === undefined)
    throw new SetupError("Curator can't be used here: install Maven and a JDK, 11 or newer.");
  return { libraries, classes, version: CURATOR[2] };
}

/** Fetches a version of Redisson, and compiles programs that use it. */
export function ensureRedisson(options = {}) {
  const { version = REDISSON.at(-1), programs = [TEST_CLIENT], log } = options;
  const skip = without('Redisson', options);
  const libraries = ensureLibraries(`redisson-${version}`, [['org.redisson', 'redisson', version]], log);
  if (libraries === undefined) return skip('it could not be fetched. Install Maven.');
  const classes = compile(programs, libraries);
  if (classes === undefined) return skip('a program could not be compiled. Install a JDK, 17 or newer.');
  return { classPath: [classes, join(libraries, '*')].join(':'), version };
}

/** The test client on every supported version, as `REDISSON_CLASS_PATHS` has it; undefined without Java. */
export function ensureRedissonClients() {
  const clients = REDISSON.map((version) => [version, ensureRedisson({ version })?.classPath]);
  const isWhole = clients.every(([, classPath]) => classPath !== undefined);
  return isWhole ? JSON.stringify(Object.fromEntries(clients)) : undefined;
}
