/** What `npm run test:stores` and `npm run demo -- --store etcd` need of etcd. Plain Node without dependencies. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { SetupError } from './setup.mjs';

/** Where it is unpacked for us. */
const CACHE = '/var/cache/nestjs-distributed-lock/etcd';

const HOW_TO_INSTALL = [
  'etcd was not found, and it cannot be fetched from here. Install it with one of',
  '  macOS          brew install etcd',
  '  Debian/Ubuntu  sudo apt-get install etcd-server',
  '  Fedora         sudo dnf install etcd',
  'or set ETCD_SERVER to the path of the program etcd.',
].join('\n');

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function findProgram() {
  const named = process.env['ETCD_SERVER'];
  if (named) {
    if (isProgram(named)) return named;
    throw new SetupError(`ETCD_SERVER is set to ${named}, which cannot be run.`);
  }
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean);
  return [...folders, join(CACHE, 'usr/bin')].map((folder) => join(folder, 'etcd')).find(isProgram);
}

function run(command, args, cwd) {
  const { status } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: 'ignore',
  });
  return status === 0;
}

/** Fetches Debian's or Ubuntu's package and unpacks it beside the system: nothing is installed, no service is there. */
function unpack(log) {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return;
  log('Fetching etcd …');
  const folder = `${CACHE}.${process.pid}`;
  const packages = join(folder, 'packages');
  mkdirSync(packages, { recursive: true });
  try {
    const isFetched =
      run('apt-get', ['download', 'etcd-server'], packages) ||
      (run('apt-get', ['update', '-qq']) && run('apt-get', ['download', 'etcd-server'], packages));
    if (!isFetched) return;
    for (const name of readdirSync(packages)) run('dpkg', ['-x', join(packages, name), folder]);
    rmSync(packages, { recursive: true });
    rmSync(CACHE, { recursive: true, force: true });
    renameSync(folder, CACHE);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Finds `etcd`: at the path that `ETCD_SERVER` names, or on PATH. When there is none and apt may be used (root on Debian
 * or Ubuntu), fetches it into a folder of its own.
 *
 * @param {{ log?: (line: string) => void, required?: boolean }} [options] `required` (default true): throw without one
 * @returns {string | null} its path
 * @throws {SetupError} which says what to install
 */
export function ensureEtcd({ log = (line) => process.stderr.write(`${line}\n`), required = true } = {}) {
  let found = findProgram();
  if (found === undefined) {
    unpack(log);
    found = findProgram();
  }
  if (found !== undefined) return found;
  if (required) throw new SetupError(HOW_TO_INSTALL);
  return null;
}
