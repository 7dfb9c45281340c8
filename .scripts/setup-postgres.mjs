/** Finds or fetches PostgreSQL and PgBouncer for tests, demo and benchmark. Plain Node without dependencies. */
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { SetupError, toStderr } from './setup.mjs';
import {
  CACHE as UNPACKED,
  findProgram,
  foldersOfPath,
  isProgram,
  mayUseApt,
  run,
  unpackInto,
} from './unpacked-programs.mjs';

/** Readable for all users, since PostgreSQL refuses to run as root. */
const CACHE = join(UNPACKED, 'postgres');
const POOLER_CACHE = join(UNPACKED, 'pgbouncer');

/** Dependencies of the packages that are irrelevant for running the server. */
const NOT_NEEDED =
  /^(postgresql-common|postgresql-client-common|perl|ssl-cert|locales|tzdata|libllvm|netbase|adduser|lsb-)/;

const NEEDED = ['initdb', 'postgres'];
/** Also the program that the failover tests need. */
const FOR_STANDBYS = [...NEEDED, 'pg_basebackup'];

function hasPrograms(folder, needed = NEEDED) {
  return needed.every((name) => isProgram(join(folder, name)));
}

/** The `bin` folders of all versions, the newest first. */
function versionsIn(folder) {
  if (!existsSync(folder)) return [];
  const versions = readdirSync(folder).filter((entry) => /^\d+$/.test(entry));
  return versions.sort((one, other) => other - one).map((entry) => join(folder, entry, 'bin'));
}

function findPrograms() {
  const named = process.env['POSTGRES_PROGRAMS'];
  if (named) {
    if (hasPrograms(named)) return { programs: named };
    throw new SetupError(`POSTGRES_PROGRAMS is set to ${named}, where initdb and postgres are not.`);
  }
  const places = ['/usr/lib/postgresql', '/usr/libexec/postgresql', join(CACHE, 'usr/lib/postgresql')];
  const folders = [...foldersOfPath(), ...places.flatMap((place) => [place, ...versionsIn(place)])];
  const programs =
    folders.find((folder) => hasPrograms(folder, FOR_STANDBYS)) ??
    folders.find((folder) => hasPrograms(folder));
  if (programs === undefined) return undefined;
  return { programs, ...(programs.startsWith(CACHE) && { libraries: librariesIn(CACHE) }) };
}

function librariesIn(cache) {
  const folders = readdirSync(join(cache, 'usr/lib')).filter((name) => name.includes('-linux-'));
  return folders.map((name) => join(cache, 'usr/lib', name)).join(delimiter);
}

/** Fetches the newest release of a package with its dependencies, and unpacks them. */
function fetchWhole(cache, name, log) {
  run('apt-get', ['update', '-qq']);
  const plan = run('apt-get', ['install', '--simulate', '--no-install-recommends', name]) ?? '';
  const needed = [...plan.matchAll(/^Inst (\S+)/gm)]
    .map(([, one]) => one)
    .filter((one) => !NOT_NEEDED.test(one));
  unpackInto(cache, [...new Set([name, ...needed])], log);
}

function findPooler() {
  const installed = findProgram('pgbouncer', ['/usr/sbin']);
  if (installed !== undefined) return { program: installed };
  const program = join(POOLER_CACHE, 'usr/sbin/pgbouncer');
  return existsSync(program) ? { program, libraries: librariesIn(POOLER_CACHE) } : undefined;
}

/** Finds PgBouncer, or fetches it as {@link ensurePostgres} does. Tests that need it are skipped if it is missing. */
export function findOrFetchPooler({ log = toStderr } = {}) {
  const found = findPooler();
  if (found !== undefined || !mayUseApt()) return found;
  fetchWhole(POOLER_CACHE, 'pgbouncer', log);
  return findPooler();
}

/**
 * Finds `initdb` and `postgres` in the folder `POSTGRES_PROGRAMS`, on PATH, or in the usual folders of packages. Otherwise
 * fetches them into a separate folder, if apt may be used (root on Debian or Ubuntu).
 *
 * @returns {{ programs: string, libraries?: string }} their folder, and the folder of their libraries if it is not the
 *   system's
 * @throws {SetupError} which says what to install
 */
export function ensurePostgres({ log = toStderr } = {}) {
  let found = findPrograms();
  if (found === undefined && mayUseApt()) {
    // The package that depends on the server of the newest version.
    fetchWhole(CACHE, 'postgresql', log);
    found = findPrograms();
  }
  if (found !== undefined) return found;
  throw new SetupError(
    'PostgreSQL was not found, and it cannot be fetched from here. Install its server (macOS: brew install postgresql; Debian, ' +
      'Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; Alpine: apk add postgresql), or set ' +
      'POSTGRES_PROGRAMS to the folder with its programs initdb and postgres.',
  );
}
