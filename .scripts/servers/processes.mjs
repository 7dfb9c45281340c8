import { spawn } from 'node:child_process';

/**
 * Ends `child` (and removes `folder`) if this process dies without doing so: the guard is a small shell in its own process
 * group that reads from a pipe which only this process keeps open. It uses SIGKILL, so it works for a stopped child, too.
 *
 * @param {import('node:child_process').ChildProcess} child
 * @param {string} [folder]
 */
export function guardAgainstOrphans(child, folder = '') {
  const script = 'if read -r _; then exit 0; fi; kill -9 "$1" 2>/dev/null; [ -z "$2" ] || rm -rf "$2"';
  const guard = spawn('sh', ['-c', script, 'guard', String(child.pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.unref();
  guard.stdin.unref();
  guard.stdin.on('error', () => undefined);
  child.once('exit', () => guard.stdin.end('done\n'));
}

/**
 * Resolves when a program has printed that it is ready, or when it has ended.
 *
 * @param {import('node:child_process').ChildProcess} child
 * @param {RegExp} ready
 * @returns {Promise<{ isReady: boolean, output: string }>} `output`: the end of what it has printed
 */
export function whenReady(child, ready) {
  return new Promise((resolve) => {
    let output = '';
    const read = (chunk) => {
      output = (output + chunk).slice(-10_000);
      if (ready.test(output)) resolve({ isReady: true, output });
    };
    // The listeners stay: a program blocks when nobody reads what it prints.
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('error', (error) => resolve({ isReady: false, output: error.message }));
    child.once('close', () => resolve({ isReady: false, output }));
  });
}
