/**
 * Builds the previous version for the tests that run it beside this one, as a rolling deploy does. Plain Node without
 * dependencies.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SetupError, toStderr } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * The last commit whose stored formats were released. Set it at each release, to the commit of that release. `PREVIOUS_COMMIT`
 * in the environment names another one.
 */
const PREVIOUS = 'ba8ed51fe5bc1ee78fa928a9bd866a0db94b058c';

const commit = process.env['PREVIOUS_COMMIT'] || PREVIOUS;
/** Its imports resolve to the packages of this folder. */
const folder = join(root, 'node_modules/.cache/previous-build', commit);

/** @returns {string | undefined} the folder of the built previous version; undefined if it was not built */
export function previousBuild() {
  return existsSync(folder) ? folder : undefined;
}

/**
 * Builds the previous version, unless that was done before. Without its commit the tests that need it are skipped, and a line
 * says so.
 *
 * @param {{ log?: (line: string) => void }} [options]
 * @returns {void}
 * @throws {SetupError} if it can't be built
 */
export function ensurePreviousBuild({ log = toStderr } = {}) {
  if (existsSync(folder)) return;
  const tree = mkdtempSync(join(tmpdir(), 'lock-previous-'));
  try {
    const archive = spawnSync('git', ['archive', '--format=tar', commit], {
      cwd: root,
      maxBuffer: 2 ** 30,
    });
    if (archive.status !== 0) {
      log(
        `Skipped: the tests beside the previous version, since the commit ${commit} is not in the git history here. ` +
          'To run them: git fetch --unshallow, or set PREVIOUS_COMMIT.',
      );
      return;
    }
    log(`Building the previous version (${commit}) …`);
    spawnSync('tar', ['-x', '-C', tree], { input: archive.stdout });
    symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'), 'junction');
    const { status } = spawnSync(process.execPath, [join(tree, '.scripts/build.mjs')], {
      cwd: tree,
      stdio: ['ignore', 2, 2],
    });
    if (status !== 0) {
      throw new SetupError(
        `The previous version (${commit}) can't be built with the packages installed here; its messages are above. ` +
          'Set PREVIOUS_COMMIT to a later commit with the same stored formats.',
      );
    }
    keep(tree);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

/** Complete or not there, whatever interrupts it. */
function keep(tree) {
  mkdirSync(dirname(folder), { recursive: true });
  const copy = mkdtempSync(`${folder}-`);
  cpSync(join(tree, 'dist'), join(copy, 'dist'), { recursive: true, verbatimSymlinks: true });
  cpSync(join(tree, 'package.json'), join(copy, 'package.json'));
  try {
    renameSync(copy, folder);
  } catch (error) {
    rmSync(copy, { recursive: true, force: true });
    // Another run may have been faster.
    if (!existsSync(folder)) throw error;
  }
}
