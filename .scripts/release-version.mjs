/**
 * `npm run release:version`: raises the version as the changesets say, and gives the section of unreleased changes in
 * CHANGELOG.md, which is written by hand, that version and the date.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const UNRELEASED = /^## .*\(unreleased\)$/m;

/**
 * The changelog with the unreleased section as that of a version.
 *
 * @param {string} changelog
 * @param {string} version
 * @param {Date} now
 * @returns {string}
 * @throws {Error} if nothing is unreleased
 */
export function released(changelog, version, now) {
  if (!UNRELEASED.test(changelog))
    throw new Error('CHANGELOG.md has no heading "## Next (unreleased)": nothing to release.');
  return changelog.replace(UNRELEASED, `## ${version} (${now.toISOString().slice(0, 10)})`);
}

function main() {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const run = (command, ...args) => {
    const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
    if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed.`);
  };
  const path = join(root, 'CHANGELOG.md');
  const changelog = readFileSync(path, 'utf8');
  // Fails before anything is changed.
  released(changelog, '0.0.0', new Date());
  run('npm', 'run', '--silent', 'changeset', '--', 'version');
  run('npm', 'install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  writeFileSync(path, released(changelog, version, new Date()));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
