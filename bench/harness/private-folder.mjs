import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** For a server of the benchmark's own. */
export const privateFolder = () => mkdtempSync(join(tmpdir(), 'lock-bench-'));

/** Ends the server when this process dies without having done so: a shell that waits for the end of its input. */
export function guardAgainstOrphan(server, folder) {
  const script = 'read -r _ || { kill -9 "$1" 2>/dev/null; rm -rf "$2"; }';
  const guard = spawn('sh', ['-c', script, 'guard', `${server.pid}`, folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // Not reached by a Ctrl-C that is meant for this process.
    detached: true,
  });
  guard.unref();
  guard.stdin.unref();
  guard.stdin.on('error', () => undefined);
  server.once('exit', () => guard.stdin.end('done\n'));
}

/** What ends a server, and removes what it has written. */
export const stopper =
  (server, folder, signal = 'SIGKILL') =>
  () => {
    server.kill(signal);
    rmSync(folder, { recursive: true, force: true });
  };
