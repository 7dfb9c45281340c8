import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ATTEMPTS = 10;

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

/** Ends the server when this process dies without having done so: a shell that waits for the end of its input. */
function guardAgainstOrphan(server, folder) {
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

async function launch(program, port, folder) {
  const options = ['--save', '', '--appendonly', 'no', '--dir', folder, '--port', `${port}`];
  const server = spawn(program, ['--bind', '127.0.0.1', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  guardAgainstOrphan(server, folder);
  let output = '';
  for await (const text of server.stdout.setEncoding('utf8')) {
    output += text;
    if (output.includes('Ready to accept connections')) {
      server.stdout.resume();
      return server;
    }
    if (/Address already in use/i.test(output)) return undefined;
  }
  throw new Error(`redis-server ended at once:\n${output}`);
}

/**
 * A Redis server of the benchmark's own: loopback only, on a free port, without persistence.
 *
 * @param {string} program path of redis-server
 * @returns {Promise<{ url: string, stop: () => void }>}
 */
export async function startPrivateRedis(program) {
  const folder = mkdtempSync(join(tmpdir(), 'lock-bench-'));
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    // Somebody else may take the port between the probe and the start.
    const port = await freePort();
    const server = await launch(program, port, folder);
    if (server === undefined) continue;
    return {
      url: `redis://127.0.0.1:${port}`,
      stop() {
        server.kill('SIGKILL');
        rmSync(folder, { recursive: true, force: true });
      },
    };
  }
  rmSync(folder, { recursive: true, force: true });
  throw new Error(`redis-server found no free port in ${ATTEMPTS} attempts.`);
}
