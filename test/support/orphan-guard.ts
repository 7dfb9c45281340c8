import { spawn, type ChildProcess } from 'node:child_process';

/**
 * Ends `child` (and removes `directory`) if this process dies without doing so: the guard is a small shell in its own
 * process group that reads from a pipe which only this process keeps open. It uses SIGKILL, so it works for a stopped child,
 * too.
 */
export function guardAgainstOrphans(child: ChildProcess, directory = ''): void {
  const script = 'if read -r _; then exit 0; fi; kill -9 "$1" 2>/dev/null; [ -z "$2" ] || rm -rf "$2"';
  const guard = spawn('sh', ['-c', script, 'guard', String(child.pid), directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.unref();
  const lifeline = guard.stdin;
  // Node types a pipe as a plain Writable; it is a socket and keeps the event loop alive unless it is unreferenced.
  (lifeline as unknown as { unref(): void }).unref();
  lifeline.on('error', () => undefined);
  child.once('exit', () => lifeline.end('done\n'));
}
