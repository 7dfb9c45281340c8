import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { sum } from '../harness/statistics.mjs';

const running = new Set();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** The Java processes of one kind of lock: RedissonLoad.java. Like `Fleet`, but it counts holds only. */
export class JavaFleet {
  #processes = [];
  #rounds = 0;

  /** @param {{ label: string, lock: string, settings: 'default' | 'tuned' }} candidate */
  constructor(candidate, processes, url, classPath) {
    Object.assign(this, { candidate, processes, url, classPath });
  }

  async open() {
    const { lock, settings } = this.candidate;
    const args = ['-cp', this.classPath, 'RedissonLoad', this.url, lock, settings];
    this.#processes = await Promise.all(Array.from({ length: this.processes }, () => start(args)));
  }

  /** @returns {Promise<{ perSecond: number, maxWait: number }>} */
  async run({ callers, keysPerCaller, sectionMs, durationMs }) {
    const label = `${this.candidate.lock}:round-${++this.#rounds}`;
    const each = callers / this.processes;
    const replies = await Promise.all(
      this.#processes.map(({ child, lines }, index) => {
        const replied = once(lines, 'line');
        const order = [label, each, index * each, keysPerCaller ?? 0, sectionMs, durationMs];
        child.stdin.write(`${order.join(' ')}\n`);
        return replied.then(([line]) => line.split(' ').map(Number));
      }),
    );
    return {
      perSecond: sum(replies.map(([holds]) => holds)) / (durationMs / 1_000),
      maxWait: Math.max(...replies.map(([, wait]) => wait)),
    };
  }

  async close() {
    await Promise.all(this.#processes.map(({ child }) => end(child)));
  }
}

async function start(args) {
  const child = spawn('java', args, { stdio: ['pipe', 'pipe', 'ignore'] });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const lines = createInterface(child.stdout);
  await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(() => Promise.reject(new Error('Java ended'))),
  ]);
  return { child, lines };
}

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
