import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { delimiter } from 'node:path';

/**
 * The lock of Curator. Each process of the benchmark talks to its own Java process through a pipe, which costs some
 * hundredths of a millisecond per hold.
 */
export const name = 'Curator InterProcessMutex';
export const kind = 'peer';
export const settings = { readme: {} };

export async function open(url) {
  const { libraries, classes, version } = JSON.parse(process.env['BENCH_CURATOR']);
  const java = spawn('java', ['-cp', [`${libraries}/*`, classes].join(delimiter), 'Locks', url], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const lines = createInterface(java.stdout);
  await once(lines, 'line');
  const answers = new Map();
  lines.on('line', (caller) => {
    const answer = answers.get(caller);
    answers.delete(caller);
    answer();
  });
  const request = (caller, text) =>
    new Promise((resolve) => {
      answers.set(caller, resolve);
      java.stdin.write(`${text}\n`);
    });
  const free = [];
  let callers = 0;
  return {
    version: `curator-recipes ${version}`,
    async withLock(key, fn) {
      const caller = free.pop() ?? String(++callers);
      await request(caller, `${caller} /curator/${key}`);
      try {
        return await fn();
      } finally {
        await request(caller, caller);
        free.push(caller);
      }
    },
    close() {
      java.stdin.end();
      return Promise.resolve();
    },
  };
}
