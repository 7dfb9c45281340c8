import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SetupError, ensureBuild, ensureDependencies } from '../setup.mjs';
import { readyLine } from './ready-line.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const LOOK_AGAIN_MS = 100;
const LIBRARY_COPY = 'node_modules/nestjs-distributed-lock';

/** A hash of the names and contents of files and folders. */
function fingerprint(folder, paths) {
  const hash = createHash('sha256');
  const add = (path) => {
    const full = join(folder, path);
    if (!existsSync(full)) return;
    if (statSync(full).isDirectory()) {
      for (const name of readdirSync(full).sort()) add(join(path, name));
    } else {
      hash.update(`${path}\0`).update(readFileSync(full)).update('\0');
    }
  };
  paths.forEach(add);
  return hash.digest('hex');
}

function run(cwd, command, args, what, env = {}) {
  const { status } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32' && command === 'npm',
  });
  if (status !== 0) throw new SetupError(`${what} failed; its messages are above.`);
}

/** npm does not update an installed folder while its version stays the same, so a rebuilt library must be reinstalled. */
function refreshLibrary({ folder, title, log }) {
  const parts = ['package.json', 'dist'];
  const copy = join(folder, LIBRARY_COPY);
  if (fingerprint(root, parts) === fingerprint(copy, parts)) return;
  log(`Installing the rebuilt library into ${title} …`);
  rmSync(copy, { recursive: true, force: true });
  run(folder, 'npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'], 'npm install');
}

function compile({ folder, title, sources, buildEnv, log }) {
  const stamp = join(folder, 'dist/.built-from');
  const wanted = fingerprint(folder, [
    ...sources,
    'package.json',
    'tsconfig.json',
    'package-lock.json',
    `${LIBRARY_COPY}/dist`,
  ]);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  log(`Building ${title} …`);
  rmSync(join(folder, 'dist'), { recursive: true, force: true });
  run(folder, 'npm', ['run', '--silent', 'build'], `Building ${title}`, buildEnv);
  writeFileSync(stamp, wanted);
}

function tryToCreate(file) {
  try {
    const descriptor = openSync(file, 'wx');
    writeSync(descriptor, `${process.pid}`);
    closeSync(descriptor);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Whether the process that created the file has ended without removing it. */
function isAbandoned(file) {
  try {
    process.kill(Number(readFileSync(file, 'utf8')) || process.pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

/**
 * Runs work under a lock file, so that concurrent demos and tests do not install into and build in the same folder.
 *
 * @template T
 * @param {string} file exists while a process works, and contains its id
 * @param {{ checkpoint(): Promise<void> }} leftovers
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function oneAtATime(file, leftovers, work) {
  while (!tryToCreate(file)) {
    if (isAbandoned(file)) rmSync(file, { force: true });
    else await delay(LOOK_AGAIN_MS);
    await leftovers.checkpoint();
  }
  const remove = () => rmSync(file, { force: true });
  process.once('exit', remove);
  try {
    return await work();
  } finally {
    process.off('exit', remove);
    remove();
  }
}

/**
 * Installs and builds the library and an application that depends on it, if anything has changed.
 *
 * @param {{ folder: string, title: string, sources: string[], buildEnv?: Record<string, string>,
 *   leftovers: import('./leftovers.mjs').Leftovers, log: import('../setup.mjs').Log }} options `title`: what messages call
 *   it; `sources`: what it is built from
 * @returns {Promise<void>}
 */
export function prepareApplication({ folder, title, sources, buildEnv, leftovers, log }) {
  return oneAtATime(join(folder, '.preparing.pid'), leftovers, async () => {
    const steps = [
      () => ensureDependencies({ log }),
      () => ensureBuild({ log }),
      () => ensureDependencies({ cwd: folder, log: (line) => log(line.replace('npm', `npm of ${title}`)) }),
      () => refreshLibrary({ folder, title, log }),
      () => compile({ folder, title, sources, buildEnv, log }),
    ];
    for (const step of steps) {
      step();
      // The steps are synchronous, so a Ctrl-C during one of them is handled here.
      await leftovers.checkpoint();
    }
  });
}

/**
 * Starts a process of an application, and waits until it listens.
 *
 * @typedef {{ url: string, name: string, child: import('node:child_process').ChildProcess, output: () => string }} Instance
 *
 * @param {{ folder: string, script: string, name: string, env: Record<string, string>,
 *   leftovers: import('./leftovers.mjs').Leftovers }} options `script`: the compiled file to run, relative to the folder
 * @returns {Promise<Instance>}
 */
export async function startInstance({ folder, script, name, env, leftovers }) {
  const started = leftovers.spawn(process.execPath, [script], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1', ...env },
  });
  const [, url] = await readyLine(started, { name, pattern: /ready on (http:\S+)/, within: 60_000 });
  return { ...started, name, url };
}
