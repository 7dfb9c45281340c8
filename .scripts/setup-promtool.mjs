/** What `npm run test:stores` needs to check alert rules and queries of the dashboard. Plain Node without dependencies. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where it is unpacked for us. */
const CACHE = '/var/cache/nestjs-distributed-lock/prometheus';

function findProgram() {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter).filter(Boolean), join(CACHE, 'usr/bin')];
  return folders.map((folder) => join(folder, 'promtool')).find((file) => existsSync(file));
}

function run(command, args, cwd) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync(command, args, { cwd, env, stdio: 'ignore' }).status === 0;
}

/** Fetches Debian's or Ubuntu's package and unpacks it beside the system: nothing is installed, no service is there. */
function unpack() {
  const folder = `${CACHE}.${process.pid}`;
  const packages = join(folder, 'packages');
  mkdirSync(packages, { recursive: true });
  try {
    const fetched =
      run('apt-get', ['download', 'prometheus'], packages) ||
      (run('apt-get', ['update', '-qq']) && run('apt-get', ['download', 'prometheus'], packages));
    if (!fetched) return;
    for (const name of readdirSync(packages)) run('dpkg', ['-x', join(packages, name), folder]);
    rmSync(packages, { recursive: true });
    rmSync(CACHE, { recursive: true, force: true });
    renameSync(folder, CACHE);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Finds `promtool` of Prometheus, or fetches it where apt may be used (root on Debian or Ubuntu). Without it, the test that
 * needs it is skipped.
 *
 * @param {{ log?: (line: string) => void }} [options]
 * @returns {string | undefined} its path
 */
export function findOrFetchPromtool({ log = (line) => process.stderr.write(`${line}\n`) } = {}) {
  const found = findProgram();
  const mayFetch = process.platform === 'linux' && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
  if (found !== undefined || !mayFetch) return found;
  log('Fetching promtool …');
  unpack();
  return findProgram();
}
