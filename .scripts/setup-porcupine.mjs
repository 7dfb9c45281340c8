/** Builds the judge of the soak that uses Porcupine. Plain Node without dependencies. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SetupError } from './setup.mjs';

const sources = fileURLToPath(new URL('../test/soak/porcupine', import.meta.url));

/**
 * @returns {string | undefined} the program, which lasts as long as this process; `undefined` without Go
 * @throws {SetupError} if it can't be built
 */
export function buildPorcupine() {
  const folder = mkdtempSync(join(tmpdir(), 'lock-porcupine-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const program = join(folder, 'porcupine');
  const how = { cwd: sources, env: { ...process.env, CGO_ENABLED: '0' }, encoding: 'utf8' };
  const { status, stderr, error } = spawnSync('go', ['build', '-o', program, '.'], how);
  if (error?.code === 'ENOENT') return undefined;
  if (status === 0) return program;
  const why = (error?.message ?? stderr).trim();
  throw new SetupError(`test/soak/porcupine could not be built. It needs Go 1.21 or later.\n${why}`);
}
