/** Finds or fetches etcd for tests, demo and benchmark. Plain Node without dependencies. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError, findOrInstall, toStderr } from './setup.mjs';
import { CACHE, createFolder, isProgram, unpackInto } from './unpacked-programs.mjs';

/**
 * Finds `etcd` at the path in `ETCD_SERVER` or on PATH. Otherwise fetches it into a separate folder, if apt may be used (root
 * on Debian or Ubuntu). With `ETCD_VERSION`, builds that version.
 *
 * @param {{ version?: string, log?: (line: string) => void }} [options] `version`: in place of `ETCD_VERSION`
 * @returns {string} its path
 * @throws {SetupError} which says what to install
 */
export function ensureEtcd({ version = process.env['ETCD_VERSION'], log = toStderr } = {}) {
  if (version && !process.env['ETCD_SERVER']) return buildEtcd(version, log);
  const folder = join(CACHE, 'etcd');
  const install = () => unpackInto(folder, ['etcd-server'], log);
  const folders = [join(folder, 'usr/bin')];
  const path = findOrInstall(['etcd'], { variable: 'ETCD_SERVER', folders, install });
  if (path !== undefined) return path;
  throw new SetupError(
    'etcd was not found, and it cannot be fetched from here. Install it (macOS: brew install etcd; Debian, Ubuntu: apt-get ' +
      'install etcd-server; Fedora: dnf install etcd), or set ETCD_SERVER to the path of the program etcd.',
  );
}

const MODULE = 'go.etcd.io/etcd/server/v3';

/** `go install` rejects the module of etcd, since its go.mod has replace directives. */
const MAIN = `package main

import (
	"os"

	"${MODULE}/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
`;

/**
 * Builds etcd from its published Go module. The first time takes a minute or more.
 *
 * @param {string} version such as `3.6.16`, from 3.5 on
 * @returns {string} path of the program
 * @throws {SetupError} if Go is not installed, or if there is no such version
 */
function buildEtcd(version, log) {
  if (!/^3\.\d+\.\d+$/.test(version)) {
    throw new SetupError(`ETCD_VERSION must be a version such as 3.6.16, not "${version}".`);
  }
  const folder = join(CACHE, `etcd-${version}`);
  const program = join(folder, 'etcd');
  if (isProgram(program)) return program;
  log(`Building etcd ${version} …`);
  createFolder(folder, (draft) => {
    writeFileSync(join(draft, 'main.go'), MAIN);
    const how = { cwd: draft, env: { ...process.env, CGO_ENABLED: '0' }, encoding: 'utf8' };
    const steps = [
      ['mod', 'init', 'etcd'],
      ['get', `${MODULE}@v${version}`],
      ['mod', 'tidy'],
      ['build', '-o', 'etcd', '.'],
    ];
    for (const step of steps) {
      const { status, stderr = '', error } = spawnSync('go', step, how);
      if (status === 0) continue;
      const why = error === undefined ? stderr.trim().split('\n').slice(-3).join('\n') : error.message;
      throw new SetupError(`etcd ${version} could not be built (go ${step.join(' ')}):\n${why}`);
    }
  });
  return program;
}
