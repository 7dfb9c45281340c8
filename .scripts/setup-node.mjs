/**
 * Finds or fetches a major version of Node. Plain Node without dependencies.
 *
 * `node .scripts/setup-node.mjs [24]` prints the folder of the program `node`, for the PATH of `.ci/run`. Without an argument
 * the version is the one in `.nvmrc`.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SetupError, toStderr } from './setup.mjs';
import { CACHE, createFolder, installFromNpm, isProgram, run } from './unpacked-programs.mjs';

/** The version that is developed on. */
export const DEVELOPED = readFileSync(new URL('../.nvmrc', import.meta.url), 'utf8').trim();

/**
 * npm has the official builds of Node, one package for each platform. These packages need no install scripts, unlike the
 * package `node`.
 */
const PACKAGE = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;

/** @returns {string | undefined} the version of a program `node`, as in `24.21.0`; undefined if it can't be started */
const versionOf = (program) => run(program, ['--version'])?.trim().slice(1);

/**
 * The running Node if it has this major version. Otherwise installs the newest one from npm, unless that was done before.
 *
 * @param {string} major such as `24`
 * @returns {{ folder: string, version: string }} the folder of the program `node`
 * @throws {SetupError} if npm can't install it
 */
export function ensureNode(major, { log = toStderr } = {}) {
  if (process.versions.node.startsWith(`${major}.`)) {
    return { folder: dirname(process.execPath), version: process.versions.node };
  }
  const cache = join(CACHE, `node-${major}`);
  const folder = join(cache, 'node_modules', PACKAGE, 'bin');
  const find = () => (isProgram(join(folder, 'node')) ? versionOf(join(folder, 'node')) : undefined);
  const version = find() ?? (install(major, cache, log), find());
  if (version !== undefined) return { folder, version };
  throw new SetupError(`The package ${PACKAGE}@${major} contains no Node that can be started here.`);
}

function install(major, cache, log) {
  log(`Installing Node ${major} from npm …`);
  createFolder(cache, (draft) => {
    const failure = installFromNpm(draft, [`${PACKAGE}@${major}`]);
    if (failure !== undefined) throw new SetupError(failure);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const { folder, version } = ensureNode(process.argv[2] ?? DEVELOPED, { log: () => {} });
    const { node } = process.versions;
    toStderr(node === version ? `Node ${version}` : `Node ${version} from npm, in place of ${node}`);
    console.log(folder);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
