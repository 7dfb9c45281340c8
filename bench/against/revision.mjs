import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { entryOf } from '../../.scripts/entries.mjs';
import { ensureDependencies, holdsAllOf, SetupError } from '../../.scripts/setup.mjs';
import { UsageError } from '../command-line.mjs';
import { exitOnSignals } from '../harness/exit-on-signals.mjs';
import { git } from './git.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Like `candidates/this-build.mjs`. Written into the worktree, so that imports resolve to its packages. */
const entryFor = (tree) => `import 'reflect-metadata';
export { NestFactory } from '@nestjs/core';
export { DistributedLockModule, Locked, LockService } from '${entryOf(tree)}';
`;

/**
 * Resolves a revision to a commit.
 *
 * @returns {string} its full id
 */
export function commitOf(revision) {
  const { ok, output, error } = git(['rev-parse', '--verify', '--end-of-options', `${revision}^{commit}`]);
  if (ok) return output;
  throw new UsageError(`There is no revision ${revision} here: ${error}`);
}

/**
 * Builds a commit in a temporary folder, which is removed when this process ends.
 *
 * @returns {string} URL of the module to load
 * @throws {SetupError} if the build fails
 */
export function buildRevision(commit, log) {
  const folder = mkdtempSync(join(tmpdir(), 'lock-bench-revision-'));
  const tree = join(folder, 'tree');
  process.once('exit', () => {
    git(['worktree', 'remove', '--force', tree]);
    rmSync(folder, { recursive: true, force: true });
    git(['worktree', 'prune']);
  });
  exitOnSignals();
  const added = git(['worktree', 'add', '--detach', tree, commit]);
  if (!added.ok) throw new SetupError(`${commit.slice(0, 12)} can't be checked out: ${added.error}`);
  if (!existsSync(join(tree, '.scripts/build.mjs'))) {
    throw new SetupError(`${commit.slice(0, 12)} has no .scripts/build.mjs, so it can't be built.`);
  }
  provideDependencies(tree, log);
  log(`Building ${commit.slice(0, 12)} …`);
  const { status, stderr } = spawnSync(process.execPath, [join(tree, '.scripts/build.mjs')], {
    cwd: tree,
    stdio: ['ignore', 2, 'pipe'],
    encoding: 'utf8',
  });
  if (status !== 0) throw new SetupError(`${commit.slice(0, 12)} can't be built:\n${stderr.trim()}`);
  const entry = join(tree, 'entry.mjs');
  writeFileSync(entry, entryFor(tree));
  return pathToFileURL(entry).href;
}

/** Links the packages installed here if they match the lock file of the worktree. Otherwise installs its own. */
function provideDependencies(tree, log) {
  const read = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;
  const installed = join(root, 'node_modules');
  const wanted = read(join(tree, 'package-lock.json'));
  if (holdsAllOf(read(join(installed, '.package-lock.json')), wanted)) {
    symlinkSync(installed, join(tree, 'node_modules'), 'junction');
  } else {
    ensureDependencies({ cwd: tree, log });
  }
}
