/** Builds the judge of the soak that uses Porcupine. Plain Node without dependencies. */
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SetupError } from './setup.mjs';

const sources = fileURLToPath(new URL('../test/soak/porcupine', import.meta.url));

/**
 * @returns {string | undefined} the program; `undefined` without Go
 * @throws {SetupError} if it can't be built
 */
export function buildPorcupine() {
  const program = join(mkdtempSync(join(tmpdir(), 'lock-porcupine-')), 'porcupine');
  const how = { cwd: sources, env: { ...process.env, CGO_ENABLED: '0' }, encoding: 'utf8' };
  const { status, stderr, error } = spawnSync('go', ['build', '-o', program, '.'], how);
  if (error?.code === 'ENOENT') return undefined;
  if (status === 0) return program;
  throw new SetupError(`test/soak/porcupine could not be built:\n${(error?.message ?? stderr).trim()}`);
}
