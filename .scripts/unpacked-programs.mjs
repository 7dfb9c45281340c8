/** Finds programs, or unpacks them from packages of Debian or Ubuntu without installing the packages or starting services. */
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** Each program is unpacked into its own folder in here. */
export const CACHE =
  process.getuid?.() === 0
    ? '/var/cache/nestjs-distributed-lock'
    : join(homedir(), '.cache/nestjs-distributed-lock');

export function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

export const foldersOfPath = () => (process.env['PATH'] ?? '').split(delimiter).filter(Boolean);

/** @returns {string | undefined} the path of a program on PATH or in further folders */
export function findProgram(name, folders = []) {
  return [...foldersOfPath(), ...folders].map((folder) => join(folder, name)).find(isProgram);
}

/** Whether packages may be installed and unpacked without asking the user: as root on Debian or Ubuntu. */
export const mayUseApt = () =>
  process.platform === 'linux' && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');

/** @returns {string | undefined} the output of a program; undefined if it fails */
export function run(command, args, cwd) {
  const { status, stdout } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return status === 0 ? stdout : undefined;
}

/**
 * Creates a folder completely or not at all, whatever interrupts it.
 *
 * @param {(draft: string) => string | void | false} fill fills a draft of the folder; returns the part of it that becomes the
 *   folder, by default all of it, or false if it has failed
 * @returns {boolean} whether the folder was created
 */
export function createFolder(folder, fill) {
  const draft = `${folder}.${process.pid}`;
  try {
    mkdirSync(draft, { recursive: true });
    const filled = fill(draft) ?? draft;
    if (filled === false) return false;
    rmSync(folder, { recursive: true, force: true });
    renameSync(filled, folder);
    return true;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/**
 * Installs packages of npm into a folder, without running their scripts.
 *
 * @returns {string | undefined} why it failed
 */
export function installFromNpm(folder, packages) {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) writeFileSync(file, '{"private":true}');
  const quiet = ['--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts', '--loglevel=error'];
  const how = { cwd: folder, encoding: 'utf8' };
  const { status, stderr, error } = spawnSync('npm', ['install', ...quiet, ...packages], how);
  return status === 0
    ? undefined
    : `npm could not install ${packages.join(' ')}:\n${error?.message ?? stderr.trim()}`;
}

/** Fetches packages and unpacks them into a folder. Updates the package list only if the first attempt fails. */
export function unpackInto(folder, names, log) {
  log(`Fetching ${names[0]} …`);
  createFolder(folder, (draft) => {
    const packages = join(draft, 'packages');
    mkdirSync(packages);
    const download = () => run('apt-get', ['download', ...names], packages) !== undefined;
    if (!download() && (run('apt-get', ['update', '-qq']) === undefined || !download())) return false;
    for (const name of readdirSync(packages)) run('dpkg', ['-x', join(packages, name), draft]);
    rmSync(packages, { recursive: true });
    return draft;
  });
}
