import { spawn } from 'node:child_process';
import { once } from 'node:events';

const running = new Set();

/**
 * Starts a program that does not outlive this process, however this process ends: a small shell in its own process group
 * reads from a pipe that only this process keeps open, and kills the program, stopped or not, when the pipe closes.
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
  if (child.pid === undefined) return child;
  const script = 'if read -r _; then exit 0; fi; kill -9 "$1" 2>/dev/null';
  const guard = spawn('sh', ['-c', script, 'guard', String(child.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.unref();
  guard.stdin.unref();
  guard.stdin.on('error', () => undefined);
  child.once('exit', () => guard.stdin.end('done\n'));
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
