/** What `npm run test:stores` and `npm run demo -- --store postgres` need of PostgreSQL. Plain Node without dependencies. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { SetupError } from './setup.mjs';

/** Where it is unpacked for us: everybody may read there, since PostgreSQL does not run as root. */
const CACHE = '/var/cache/nestjs-distributed-lock/postgres';

const HOW_TO_INSTALL = [
  'PostgreSQL was not found, and it cannot be fetched from here. Install its server with one of',
  '  macOS          brew install postgresql',
  '  Debian/Ubuntu  sudo apt-get install postgresql',
  '  Fedora         sudo dnf install postgresql-server',
  '  Alpine         apk add postgresql',
  'or set POSTGRES_PROGRAMS to the folder with its programs initdb and postgres.',
].join('\n');

/** What a package of the server needs that has nothing to do with running it. */
const NOT_NEEDED =
  /^(postgresql-common|postgresql-client-common|perl|ssl-cert|locales|tzdata|libllvm|netbase|adduser|lsb-)/;

function hasPrograms(folder) {
  return ['initdb', 'postgres'].every((name) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Folders of versions, the newest first. */
function versionsIn(folder, name = /^\d+$/) {
  if (!existsSync(folder)) return [];
  const versions = readdirSync(folder).filter((entry) => name.test(entry));
  return versions
    .sort((one, other) => Number(/\d+/.exec(other)) - Number(/\d+/.exec(one)))
    .map((entry) => join(folder, entry, 'bin'));
}

function findPrograms() {
  const named = process.env['POSTGRES_PROGRAMS'];
  if (named) {
    if (hasPrograms(named)) return { programs: named };
    throw new SetupError(`POSTGRES_PROGRAMS is set to ${named}, where initdb and postgres are not.`);
  }
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter).filter(Boolean),
    ...versionsIn('/usr/lib/postgresql'),
    ...versionsIn('/opt/homebrew/opt', /^postgresql(@\d+)?$/),
    ...versionsIn('/usr/local/opt', /^postgresql(@\d+)?$/),
    '/usr/libexec/postgresql',
  ];
  const programs = folders.find(hasPrograms);
  return programs === undefined ? undefined : { programs };
}

function findUnpacked() {
  const programs = versionsIn(join(CACHE, 'usr/lib/postgresql')).find(hasPrograms);
  if (programs === undefined) return undefined;
  const libraries = readdirSync(join(CACHE, 'usr/lib')).filter((name) => name.includes('-linux-'));
  return { programs, libraries: libraries.map((name) => join(CACHE, 'usr/lib', name)).join(delimiter) };
}

function run(command, args, cwd) {
  const { status, stdout } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return status === 0 ? stdout : undefined;
}

/** Fetches Debian's or Ubuntu's packages and unpacks them beside the system: nothing is installed, no service is there. */
function unpack(log) {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return;
  run('apt-get', ['update', '-qq']);
  const known = run('apt-cache', ['pkgnames', 'postgresql-']) ?? '';
  const versions = known.split('\n').flatMap((name) => /^postgresql-(\d+)$/.exec(name)?.[1] ?? []);
  const version = versions.sort((one, other) => other - one)[0];
  if (version === undefined) return;
  log(`Fetching PostgreSQL ${version} …`);
  const server = `postgresql-${version}`;
  const plan = run('apt-get', ['install', '--simulate', '--no-install-recommends', server]) ?? '';
  const needed = [...plan.matchAll(/^Inst (\S+)/gm)]
    .map(([, name]) => name)
    .filter((name) => !NOT_NEEDED.test(name));
  const folder = `${CACHE}.${process.pid}`;
  mkdirSync(join(folder, 'packages'), { recursive: true });
  try {
    const packages = join(folder, 'packages');
    if (run('apt-get', ['download', ...new Set([server, ...needed])], packages) === undefined) return;
    for (const name of readdirSync(packages)) run('dpkg', ['-x', join(packages, name), folder]);
    rmSync(packages, { recursive: true });
    rmSync(CACHE, { recursive: true, force: true });
    renameSync(folder, CACHE);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Finds `initdb` and `postgres`: in the folder that `POSTGRES_PROGRAMS` names, on PATH, or where packages put them. When
 * there are none and apt may be used (root on Debian or Ubuntu), fetches them into a folder of their own.
 *
 * @param {{ log?: (line: string) => void, required?: boolean }} [options] `required` (default true): throw without one
 * @returns {{ programs: string, libraries?: string } | null} their folder, and where their libraries are if not the system's
 * @throws {SetupError} which says what to install
 */
export function ensurePostgres({ log = (line) => process.stderr.write(`${line}\n`), required = true } = {}) {
  let found = findPrograms() ?? findUnpacked();
  if (found === undefined) {
    unpack(log);
    found = findUnpacked();
  }
  if (found !== undefined) return found;
  if (required) throw new SetupError(HOW_TO_INSTALL);
  return null;
}
