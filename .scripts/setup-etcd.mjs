/** Finds or fetches etcd for tests, demo and benchmark. Plain Node without dependencies. */
import { buildEtcd } from './build-etcd.mjs';
import { SetupError } from './setup.mjs';
import { findOrFetch, isProgram } from './unpacked-programs.mjs';

const HOW_TO_INSTALL = [
  'etcd was not found, and it cannot be fetched from here. Install it with one of',
  '  macOS          brew install etcd',
  '  Debian/Ubuntu  sudo apt-get install etcd-server',
  '  Fedora         sudo dnf install etcd',
  'or set ETCD_SERVER to the path of the program etcd.',
].join('\n');

/**
 * Finds `etcd` at the path in `ETCD_SERVER` or on PATH. Otherwise fetches it into a separate folder, if apt may be used (root
 * on Debian or Ubuntu). With `ETCD_VERSION`, builds that version.
 *
 * @param {{ log?: (line: string) => void, required?: boolean }} [options] `required` (default true): throw if there is none
 * @returns {string | null} its path
 * @throws {SetupError} which says what to install
 */
export function ensureEtcd({ log = (line) => process.stderr.write(`${line}\n`), required = true } = {}) {
  const named = process.env['ETCD_SERVER'];
  if (named) {
    if (isProgram(named)) return named;
    throw new SetupError(`ETCD_SERVER is set to ${named}, which cannot be run.`);
  }
  const version = process.env['ETCD_VERSION'];
  if (version) return buildEtcd(version, log);
  const found = findOrFetch('etcd', { from: 'etcd-server', into: 'etcd', log });
  if (found !== undefined) return found;
  if (required) throw new SetupError(HOW_TO_INSTALL);
  return null;
}
