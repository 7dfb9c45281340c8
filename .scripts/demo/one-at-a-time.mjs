import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const LOOK_AGAIN_MS = 100;

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
export async function oneAtATime(file, leftovers, work) {
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
