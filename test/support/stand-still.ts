import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from './until.js';

/**
 * Sends SIGSTOP to a multi-threaded process: on a busy machine its threads continue until the main thread runs and stops
 * them all. Resolves when all have stopped (immediately, except on Linux).
 */
export async function standStill(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  if (process.platform !== 'linux') return;
  await until('all its threads are stopped', async () => {
    const tasks = `/proc/${String(pid)}/task`;
    // Threads that end meanwhile are missing the next time.
    const state = (task: string): Promise<string> =>
      readFile(join(tasks, task, 'stat'), 'utf8').catch(() => '');
    const states = (await readdir(tasks)).map(state);
    return (await Promise.all(states)).every((seen) => seen.includes(') T '));
  });
}
