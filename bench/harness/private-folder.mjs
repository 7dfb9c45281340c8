import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Creates a temporary folder for a private server. */
export const privateFolder = () => mkdtempSync(join(tmpdir(), 'lock-bench-'));

/** Kills the server if this process dies without stopping it. A shell detects this by the end of its input. */
export function guardAgainstOrphan(server, folder) {
  const script = 'read -r _ || { kill -9 "$1" 2>/dev/null; rm -rf "$2"; }';
  const guard = spawn('sh', ['-c', script, 'guard', `${server.pid}`, folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // Its own process group, so that Ctrl-C does not end it.
    detached: true,
  });
  guard.unref();
  guard.stdin.unref();
  guard.stdin.on('error', () => undefined);
  server.once('exit', () => guard.stdin.end('done\n'));
}

/** Returns a function that stops a server and removes its folder. */
export const stopper =
  (server, folder, signal = 'SIGKILL') =>
  () => {
    server.kill(signal);
    rmSync(folder, { recursive: true, force: true });
  };
