import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { elapse } from '../harness/clock.mjs';
import { sum } from '../harness/statistics.mjs';

const running = new Set();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** The Java processes of one kind of lock: RedissonLoad.java. Like `Fleet`, but without its processor time and sections. */
export class JavaFleet {
  #processes = [];
  #rounds = 0;

  /** @param {{ lock: string, settings: 'default' | 'tuned' }} candidate */
  constructor(candidate, processes, url, classPath) {
    Object.assign(this, { candidate, processes, url, classPath });
  }

  async open() {
    const { candidate, url, classPath } = this;
    const starting = Array.from({ length: this.processes }, () =>
      JavaProcess.start(candidate, url, classPath),
    );
    this.#processes = await Promise.all(starting);
  }

  async run({ callers, keysPerCaller, sectionMs, durationMs }, stats) {
    await stats.empty();
    await stats.reset();
    const label = `${this.candidate.lock}:round-${++this.#rounds}`;
    const each = callers / this.processes;
    const replies = await Promise.all(
      this.#processes.map(async (java, index) => {
        const order = ['run', label, each, index * each, keysPerCaller ?? 0, sectionMs, durationMs];
        return (await java.ask(order)).split(' ').map(Number);
      }),
    );
    const holds = sum(replies.map(([served]) => served));
    const counts = Object.entries(await stats.counts());
    return {
      perSecond: holds / (durationMs / 1_000),
      maxWait: Math.max(...replies.map(([, wait]) => wait)),
      commands: Object.fromEntries(counts.map(([name, count]) => [name, count / holds])),
    };
  }

  async close() {
    await Promise.all(this.#processes.map((java) => java.kill()));
  }
}

/**
 * Kills the first of two waiters of an RFairLock, then releases the lock.
 *
 * @returns {Promise<number>} ms from the release until the second one holds it
 */
export async function deathOfFirstFair(url, classPath, redis) {
  const fair = { lock: 'fair', settings: 'default' };
  const processes = await Promise.all([1, 2, 3].map(() => JavaProcess.start(fair, url, classPath)));
  const [holder, first, second] = processes;
  const name = 'first-in-line';
  const waiters = async (count) => {
    while ((await redis.llen(`redisson_lock_queue:{${name}}`)) < count) await elapse(5);
  };
  try {
    await holder.ask(['hold', name]);
    first.ask(['hold', name]).catch(() => undefined);
    await waiters(1);
    const granted = second.ask(['hold', name]);
    await waiters(2);
    await first.kill();
    const releasedAt = performance.now();
    await holder.ask(['release']);
    await granted;
    return performance.now() - releasedAt;
  } finally {
    await Promise.all(processes.map((java) => java.kill()));
  }
}

class JavaProcess {
  #child;
  #lines;
  /** Rejects at the end of the process. */
  #ended;

  constructor(child) {
    this.#child = child;
    this.#lines = createInterface(child.stdout);
    this.#ended = once(child, 'exit').then(() => Promise.reject(new Error('Java ended')));
    this.#ended.catch(() => undefined);
  }

  static async start({ lock, settings }, url, classPath) {
    const args = ['-cp', classPath, 'RedissonLoad', url, lock, settings];
    const child = spawn('java', args, { stdio: ['pipe', 'pipe', 'ignore'] });
    running.add(child);
    child.once('exit', () => running.delete(child));
    const java = new JavaProcess(child);
    await java.#line();
    return java;
  }

  /** Writes one line, and resolves with the line that the process replies. */
  ask(words) {
    const replied = this.#line();
    this.#child.stdin.write(`${words.join(' ')}\n`);
    return replied;
  }

  async kill() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  async #line() {
    const [line] = await Promise.race([once(this.#lines, 'line'), this.#ended]);
    return line;
  }
}
