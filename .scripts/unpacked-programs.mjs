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

/** Fetches packages and unpacks them into a folder, atomically. Updates the package list only if the first attempt fails. */
export function unpackInto(folder, names) {
  const draft = `${folder}.${process.pid}`;
  const packages = join(draft, 'packages');
  mkdirSync(packages, { recursive: true });
  const download = () => run('apt-get', ['download', ...names], packages) !== undefined;
  try {
    if (!download() && (run('apt-get', ['update', '-qq']) === undefined || !download())) return;
    for (const name of readdirSync(packages)) run('dpkg', ['-x', join(packages, name), draft]);
    rmSync(packages, { recursive: true });
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/**
 * Finds a program on PATH or in the cache. Otherwise fetches its package, if apt may be used (root on Debian or Ubuntu).
 *
 * @param {string} name of the program
 * @param {{ from: string, into: string, log: (line: string) => void }} how `from`: the package; `into`: its folder in the cache
 * @returns {string | undefined} its path
 */
export function findOrFetch(name, { from, into, log }) {
  const folder = join(CACHE, into);
  const find = () => findProgram(name, [join(folder, 'usr/bin')]);
  const found = find();
  if (found !== undefined || !mayUseApt()) return found;
  log(`Fetching ${name} …`);
  unpackInto(folder, [from]);
  return find();
}
