/**
 * Set-up of `npm test`, `npm run demo` and other commands on a machine that has only Node.
 * Plain Node without dependencies, since this runs before `node_modules` exists.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram, isProgram, mayUseApt } from './unpacked-programs.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Folders of Homebrew, MacPorts and source builds, which a minimal PATH does not contain. */
const EXTRA_PATHS = [
  '/opt/homebrew/bin',
  '/usr/local/bin',
  '/opt/local/bin',
  '/home/linuxbrew/.linuxbrew/bin',
  '/usr/bin',
];

/** A missing prerequisite that the user must provide. Only its message is printed. */
export class SetupError extends Error {
  name = 'SetupError';
}

/**
 * @callback Log
 * @param {string} line one short line of progress
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
 * Installs the npm dependencies of a folder if they are missing or differ from its lock file.
 *
 * @param {{ cwd?: string, log?: Log }} [options] `cwd`: folder with the package.json, by default this package's
 * @throws {SetupError} when npm fails
 */
export function ensureDependencies({ cwd = root, log = toStderr } = {}) {
  if (dependenciesMatch(cwd)) return;
  const command = existsSync(join(cwd, 'package-lock.json')) ? 'ci' : 'install';
  log(`Installing npm dependencies (npm ${command}) …`);
  const args = [command, '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', args, {
    cwd,
    // The output of npm goes to stderr, since stdout belongs to the calling command.
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new SetupError(`npm ${command} failed in ${cwd}; its messages are above.`);
}

/**
 * Finds a program, which may have several names, at the path in a variable, on PATH, or in further folders. Otherwise gets it, if apt may be used (root on
 * Debian or Ubuntu).
 *
 * @returns {string | undefined} its path
 * @throws {SetupError} if the variable names no program
 */
export function findOrInstall(names, { variable, folders = EXTRA_PATHS, install }) {
  const named = process.env[variable];
  if (named && !isProgram(named)) {
    throw new SetupError(`${variable} is set to ${named}, which is not a program that can be run.`);
  }
  const find = () => named || names.map((name) => findProgram(name, folders)).find(Boolean);
  if (find() === undefined && mayUseApt()) install();
  return find();
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
 * Prevents the package manager from starting services, by Debian's policy file (`invoke-rc.d(8)`). Tests and demo start
 * private servers instead.
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
  // Prevents a start at the next boot. Fails harmlessly without systemd.
  spawnSync('systemctl', ['disable', 'redis-server'], { stdio: 'ignore' });
}

export function installWithApt(packages, log, logFailure = log) {
  log(`Installing ${packages.join(', ')} with apt …`);
  // Ignores a failed update, since the existing package list may suffice.
  apt(['update']);
  const result = apt(['install', '-y', '--no-install-recommends', ...packages]);
  if (result.status !== 0) logFailure(`apt-get install failed: ${`${result.stderr}${result.stdout}`.trim()}`);
}

/**
 * Finds `redis-server`, or installs it without starting its service.
 *
 * @param {{ log?: Log, required?: boolean }} [options] `required` (default true): throw if there is none
 * @returns {{ path: string } | null} null only with `required: false`
 * @throws {SetupError} which says what to install
 */
export function ensureRedisServer({ log = toStderr, required = true } = {}) {
  const install = () => withoutServiceStart(() => installWithApt(['redis-server'], log));
  const path = findOrInstall(['redis-server'], { variable: 'REDIS_SERVER', install });
  if (path !== undefined) return { path };
  if (!required) return null;
  throw new SetupError(
    'redis-server was not found, and it cannot be installed from here. Install it (macOS: brew install redis; Debian, Ubuntu: ' +
      'apt-get install redis-server; Fedora, Alpine: the package redis), or set REDIS_SERVER to the path of the program.',
  );
}

/** Programs that some tests need besides Redis, with their Debian packages. */
const TEST_TOOLS = {
  // Creates certificates for servers with TLS.
  openssl: ['openssl'],
  // Compiles test/support/clock-shim.c, which sets the clock of redis-server.
  cc: ['gcc', 'libc6-dev'],
};

/**
 * Installs the missing {@link TEST_TOOLS}, if apt may be used. Otherwise the tests that need them fail and say what to
 * install.
 */
export function ensureTestTools({ log = toStderr } = {}) {
  const missing = Object.keys(TEST_TOOLS).filter((name) => !findProgram(name, EXTRA_PATHS));
  if (missing.length > 0 && mayUseApt())
    installWithApt(
      missing.flatMap((name) => TEST_TOOLS[name]),
      log,
    );
}

/** The latest change of a file or folder. Includes the time of the folder itself, which changes when a file is removed. */
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
  'tsconfig.build.json',
  '.scripts/build.mjs',
  '.scripts/bundle.mjs',
  '.scripts/generate-lua.mjs',
  '.scripts/generate-page.mjs',
];

/** The time stamp for a build of all files written so far. Rounded up, since files have fractions of a millisecond. */
export function timeOfBuild() {
  return new Date(Date.now() + 1);
}

/**
 * Builds the package if `dist` is missing or older than its sources. Needs the npm dependencies.
 *
 * @throws {SetupError} if the build fails
 */
export function ensureBuild({ log = toStderr } = {}) {
  // The build writes this file last, with the time of its start.
  const marker = join(root, 'dist/cjs/package.json');
  const builtAt = existsSync(marker) ? statSync(marker).mtimeMs : 0;
  if (BUILD_INPUTS.every((input) => newestChange(join(root, input)) <= builtAt)) return;
  log('Building …');
  const { status } = spawnSync(process.execPath, [join(root, '.scripts/build.mjs')], {
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new SetupError('The build failed; its messages are above.');
}
