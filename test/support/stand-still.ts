import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from './until.js';

/**
 * SIGSTOP to a process whose threads do its work: on a busy machine they go on until its main thread gets a turn and
 * stops them all. Resolves when none of them does (elsewhere than on Linux: at once).
 */
export async function standStill(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  if (process.platform !== 'linux') return;
  await until('all of it stands still', async () => {
    const tasks = `/proc/${String(pid)}/task`;
    // Those that end meanwhile are not there the next time.
    const state = (task: string): Promise<string> =>
      readFile(join(tasks, task, 'stat'), 'utf8').catch(() => '');
    const states = (await readdir(tasks)).map(state);
    return (await Promise.all(states)).every((seen) => seen.includes(') T '));
  });
}
