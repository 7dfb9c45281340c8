import { spawn, type ChildProcess } from 'node:child_process';

/**
 * Ends `child` (and removes `directory`) when this process dies without having done so, however it dies: the guard is a
 * tiny shell in a group of its own that reads from a pipe which only this process keeps open. It works for a stopped
 * child too, because it kills with SIGKILL.
 */
export function guardAgainstOrphans(child: ChildProcess, directory = ''): void {
  const script = 'if read -r _; then exit 0; fi; kill -9 "$1" 2>/dev/null; [ -z "$2" ] || rm -rf "$2"';
  const guard = spawn('sh', ['-c', script, 'guard', String(child.pid), directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.unref();
  const lifeline = guard.stdin;
  // Node types a pipe as a plain Writable; it is a socket and keeps the event loop alive unless told otherwise.
  (lifeline as unknown as { unref(): void }).unref();
  lifeline.on('error', () => undefined);
  child.once('exit', () => lifeline.end('done\n'));
}
