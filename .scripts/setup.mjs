/**
 * What `npm test` and `npm run demo` need before they can start, on a machine with Node and nothing else.
 * Plain Node without dependencies: this runs before there is a `node_modules`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram, isProgram, mayUseApt } from './unpacked-programs.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Places where Homebrew, MacPorts and source builds put programs that a bare PATH does not list. */
const EXTRA_PATHS = [
  '/opt/homebrew/bin',
  '/usr/local/bin',
  '/opt/local/bin',
  '/home/linuxbrew/.linuxbrew/bin',
  '/usr/bin',
];

const HOW_TO_INSTALL_REDIS = [
  'redis-server was not found, and it cannot be installed from here. Install it with one of',
  '  macOS          brew install redis',
  '  Debian/Ubuntu  sudo apt-get install redis-server',
  '  Fedora         sudo dnf install redis',
  '  Alpine         apk add redis',
  'or set REDIS_SERVER to the path of the program.',
].join('\n');

/**
 * A thing that the user has to do before the command can go on; its message is all that should be printed.
 */
export class SetupError extends Error {
  name = 'SetupError';
}

/**
 * @callback Log
 * @param {string} line one short line of progress
 * @returns {void}
 */

/** @type {Log} */
export const toStderr = (line) => process.stderr.write(`${line}\n`);

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Compares the lock file with npm's record of the installed packages, since a fresh checkout has new time stamps. */
function dependenciesMatch(cwd) {
  const wanted = readJson(join(cwd, 'package-lock.json'))?.packages;
  const installed = readJson(join(cwd, 'node_modules/.package-lock.json'))?.packages;
  return installed !== undefined && (wanted === undefined || holdsAllOf(installed, wanted));
}

/**
 * Whether all packages of a lock file are installed in its versions. Further packages may be installed. A package that is
 * needed only on other platforms may be missing.
 *
 * @param {Record<string, { version?: string }>} installed `packages` of `node_modules/.package-lock.json`
 * @param {Record<string, { version?: string, link?: boolean, optional?: boolean, devOptional?: boolean, peer?: boolean }>} wanted
 *   `packages` of a `package-lock.json`
 * @returns {boolean}
 */
export function holdsAllOf(installed, wanted) {
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/') || entry.link) return true;
    const found = installed[path];
    return found
      ? found.version === entry.version
      : Boolean(entry.optional || entry.devOptional || entry.peer);
  });
}

/**
 * Installs the npm dependencies of a folder when they are missing or differ from its lock file.
 *
 * @param {{ cwd?: string, log?: Log }} [options] `cwd`: folder with the package.json, by default this package's
 * @returns {void}
 * @throws {SetupError} when npm fails
 */
export function ensureDependencies({ cwd = root, log = toStderr } = {}) {
  if (dependenciesMatch(cwd)) return;
  const command = existsSync(join(cwd, 'package-lock.json')) ? 'ci' : 'install';
  log(`Installing npm dependencies (npm ${command}) …`);
  const args = [command, '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', args, {
    cwd,
    // Its own output goes to stderr: stdout belongs to the command that asked for the set-up.
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new SetupError(`npm ${command} failed in ${cwd}; its messages are above.`);
}

function findRedisServer() {
  const named = process.env['REDIS_SERVER'];
  if (named) {
    if (isProgram(named)) return named;
    throw new SetupError(`REDIS_SERVER is set to ${named}, which is not a program that can be run.`);
  }
  return findProgram('redis-server', EXTRA_PATHS);
}

function apt(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync('apt-get', ['-qq', '-o', 'Dpkg::Use-Pty=0', '-o', 'DPkg::Lock::Timeout=120', ...args], {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/**
 * Forbids the package manager to start services while it works, with the file that Debian has for this purpose
 * (`invoke-rc.d(8)`); tests and demo start private servers on free ports and need no service.
 */
function withoutServiceStart(install) {
  const policy = '/usr/sbin/policy-rc.d';
  const ours = !existsSync(policy);
  if (ours) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    install();
  } finally {
    if (ours) rmSync(policy, { force: true });
  }
  // Not at the next boot either. Fails harmlessly where there is no systemd.
  spawnSync('systemctl', ['disable', 'redis-server'], { stdio: 'ignore' });
}

export function installWithApt(packages, log, logFailure = log) {
  log(`Installing ${packages.join(', ')} with apt …`);
  // An outdated list of packages is no reason to stop: the one on disk may do.
  apt(['update']);
  const result = apt(['install', '-y', '--no-install-recommends', ...packages]);
  if (result.status !== 0) logFailure(`apt-get install failed: ${`${result.stderr}${result.stdout}`.trim()}`);
}

/**
 * Finds `redis-server`: the path in `REDIS_SERVER`, on PATH, or where Homebrew and others put it. When there is none
 * and apt may be used (root on Debian or Ubuntu), installs it, without leaving a service running.
 *
 * @param {{ log?: Log, required?: boolean }} [options] `required` (default true): throw when there is none
 * @returns {{ path: string } | null} null only with `required: false`
 * @throws {SetupError} which says what to install
 */
export function ensureRedisServer({ log = toStderr, required = true } = {}) {
  let path = findRedisServer();
  if (!path && mayUseApt()) {
    withoutServiceStart(() => installWithApt(['redis-server'], log));
    path = findRedisServer();
  }
  if (path) return { path };
  if (required) throw new SetupError(HOW_TO_INSTALL_REDIS);
  return null;
}

/** Programs that a few tests need beside Redis, and the Debian packages that bring them. */
const TEST_TOOLS = {
  // Certificates for servers with TLS.
  openssl: ['openssl'],
  // The clock that can be set of a redis-server: test/support/clock-shim.c.
  cc: ['gcc', 'libc6-dev'],
  // Histories in which the benchmark looks for what to compare with.
  git: ['git'],
};

/**
 * Installs what is missing of the programs that tests need beside Redis, where apt may be used. Elsewhere the tests that
 * need one fail and say what to install; all others run.
 *
 * @param {{ log?: Log }} [options]
 * @returns {void}
 */
export function ensureTestTools({ log = toStderr } = {}) {
  const missing = Object.keys(TEST_TOOLS).filter((name) => !findProgram(name, EXTRA_PATHS));
  if (missing.length > 0 && mayUseApt())
    installWithApt(
      missing.flatMap((name) => TEST_TOOLS[name]),
      log,
    );
}

/** The newest change below a file or folder; a folder's own time tells of files that were removed. */
export function newestChange(path) {
  if (!existsSync(path)) return 0;
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  const children = readdirSync(path).map((name) => newestChange(join(path, name)));
  return Math.max(stats.mtimeMs, ...children);
}

const BUILD_INPUTS = [
  'lib',
  'lua',
  'nest-cli.json',
  'package.json',
  'tsconfig.json',
  'tsconfig.cjs.json',
  'tsconfig.esm.json',
  '.scripts/build.mjs',
  '.scripts/generate-lua.mjs',
  '.scripts/generate-page.mjs',
  '.scripts/link-builds.mjs',
];

/** The time for what is built of all that was written so far: rounded up, since files have parts of a millisecond. */
export function timeOfBuild() {
  return new Date(Date.now() + 1);
}

/**
 * Builds the package when `dist` is missing or older than what it is made from. Needs the npm dependencies.
 *
 * @param {{ log?: Log }} [options]
 * @returns {void}
 * @throws {SetupError} when the build fails
 */
export function ensureBuild({ log = toStderr } = {}) {
  // The build writes this file last and gives it the time at which it began.
  const marker = join(root, 'dist/cjs/package.json');
  const builtAt = existsSync(marker) ? statSync(marker).mtimeMs : 0;
  if (BUILD_INPUTS.every((input) => newestChange(join(root, input)) <= builtAt)) return;
  log('Building …');
  const { status } = spawnSync(process.execPath, [join(root, '.scripts/build.mjs')], {
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new SetupError('The build failed; its messages are above.');
}
