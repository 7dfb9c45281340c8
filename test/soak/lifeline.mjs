import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { guardAgainstOrphans } from '../../.scripts/servers/processes.mjs';

const running = new Set();

/**
 * Starts a program that does not outlive this process, however this process ends.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 */
export function spawnTied(command, args, options) {
  const child = spawn(command, args, options);
  child.on('error', () => undefined); // comes with 'exit' or with no pid; both are looked at
  running.add(child);
  child.once('exit', () => running.delete(child));
  if (child.pid !== undefined) guardAgainstOrphans(child);
  return child;
}

/** Kills a program and waits for its exit. */
export async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** Ends all programs started here. */
export async function endAll() {
  await Promise.all([...running].map(end));
}
