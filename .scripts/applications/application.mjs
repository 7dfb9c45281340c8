import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SetupError, ensureBuild, ensureDependencies, newestChange, timeOfBuild } from '../setup.mjs';
import { untilReady } from './leftovers.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const LOOK_AGAIN_MS = 100;
const LIBRARY_COPY = 'node_modules/nestjs-distributed-lock';
/** Its time stamp is the start of the build. */
const BUILD_MARKER = 'dist/cjs/package.json';

function npm(cwd, args, what, env = {}) {
  const { status } = spawnSync('npm', args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new SetupError(`${what} failed; its messages are above.`);
}

/** npm does not update an installed folder while its version stays the same, so a rebuilt library must be reinstalled. */
function refreshLibrary({ folder, title, log }) {
  const copy = join(folder, LIBRARY_COPY);
  if (newestChange(join(root, BUILD_MARKER)) <= newestChange(join(copy, BUILD_MARKER))) return;
  log(`Installing the rebuilt library into ${title} …`);
  rmSync(copy, { recursive: true, force: true });
  npm(folder, ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'], 'npm install');
}

function compile({ folder, title, sources, buildEnv, log }) {
  const stamp = join(folder, 'dist/.built');
  const library = join(LIBRARY_COPY, BUILD_MARKER);
  const inputs = [...sources, 'package.json', 'tsconfig.json', 'package-lock.json', library];
  const builtAt = newestChange(stamp);
  if (inputs.every((input) => newestChange(join(folder, input)) < builtAt)) return;
  log(`Building ${title} …`);
  const startedAt = timeOfBuild();
  rmSync(join(folder, 'dist'), { recursive: true, force: true });
  npm(folder, ['run', '--silent', 'build'], `Building ${title}`, buildEnv);
  writeFileSync(stamp, '');
  utimesSync(stamp, startedAt, startedAt);
}

function tryToCreate(file) {
  try {
    writeFileSync(file, `${process.pid}`, { flag: 'wx' });
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
 * @param {string} file exists while a process works, and contains its id
 * @param {{ checkpoint(): Promise<void> }} leftovers
 * @param {() => Promise<void>} work
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
    await work();
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
  const [, url] = await untilReady(name, started.child, /ready on (http:\S+)\s/);
  return { ...started, name, url };
}
