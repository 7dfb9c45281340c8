import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Creates a temporary folder for a private server. */
export const privateFolder = () => mkdtempSync(join(tmpdir(), 'lock-bench-'));

/** Returns a function that stops a server and removes its folder. */
export const stopper =
  (server, folder, signal = 'SIGKILL') =>
  () => {
    server.kill(signal);
    rmSync(folder, { recursive: true, force: true });
  };
