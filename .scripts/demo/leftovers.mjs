import { spawn } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Thrown at whoever wants to start something when the demo is on its way out. */
export class InterruptedError extends Error {
  name = 'InterruptedError';
}

const GRACE_MS = 5_000;
const PARENT_CHECK_MS = 200;
/** As much of a child's output as is worth showing when it fails. */
const OUTPUT_KEPT = 4_000;

/** Keeps account of every process and folder of the demo, so that none of them outlives it, however it ends. */
export class Leftovers {
  #children = [];
  #folders = new Set();
  #tasks = [];
  #removing;
  #interruption = new AbortController();
  /** Set where a signal is the expected end, so that it doesn't count as an interruption to whoever started us. */
  exitCodeOnSignal;

  constructor() {
    // Every request that is under way listens to it.
    setMaxListeners(0, this.signal);
    // The last resort, for an error that nobody caught or a second Ctrl-C: what can be done at once.
    process.on('exit', () => {
      for (const { child } of this.#children) if (isRunning(child)) child.kill('SIGKILL');
      this.#removeFolders();
    });
  }

  /** Aborted when the demo has been told to stop. */
  get signal() {
    return this.#interruption.signal;
  }

  get interrupted() {
    return this.signal.aborted;
  }

  /** Ends the demo in order on Ctrl-C and the like; the second time it ends at once. */
  removeOnSignals(onSignal) {
    const stop = (signal) => {
      const code = this.exitCodeOnSignal ?? 128 + constants.signals[signal];
      if (this.interrupted) process.exit(code);
      onSignal();
      this.#interruption.abort(new InterruptedError());
      void this.remove().then(() => process.exit(code));
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(signal));
    if (process.env['npm_lifecycle_event']) whenOrphaned(() => stop('SIGTERM'));
  }

  /**
   * Lets a signal that came during synchronous work through.
   * @throws {InterruptedError} for ever after one
   */
  async checkpoint() {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.interrupted) throw new InterruptedError();
  }

  folder(prefix) {
    if (this.interrupted) throw new InterruptedError();
    const path = mkdtempSync(join(tmpdir(), prefix));
    this.#folders.add(path);
    return path;
  }

  /** Something to do at the end, after the processes that were started later than this have ended. */
  task(run) {
    this.#tasks.push({ run, before: this.#children.length });
  }

  /**
   * A process of its own group: the terminal's Ctrl-C reaches only us, and we stop the rest in the right order.
   * @returns {{ child: import('node:child_process').ChildProcess, output: () => string }}
   */
  spawn(command, args, options) {
    if (this.interrupted) throw new InterruptedError();
    const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (output = (output + text).slice(-OUTPUT_KEPT)));
    }
    // Without a listener a program that can't be started would be an uncaught exception.
    child.on('error', (error) => (output += error.message));
    const started = { child, output: () => output.trim() };
    this.#children.push(started);
    return started;
  }

  /** Ends and removes everything, the latest first. */
  remove() {
    this.#removing ??= this.#removeAll();
    return this.#removing;
  }

  async #removeAll() {
    const tasks = this.#tasks.toReversed();
    let end = this.#children.length;
    for (const { run, before } of tasks) {
      await Promise.all(this.#children.slice(before, end).map(({ child }) => stop(child)));
      end = before;
      try {
        await run();
      } catch (error) {
        process.stderr.write(`${error.message}\n`);
      }
    }
    await Promise.all(this.#children.slice(0, end).map(({ child }) => stop(child)));
    this.#removeFolders();
  }

  #removeFolders() {
    for (const path of this.#folders) rmSync(path, { recursive: true, force: true });
    this.#folders.clear();
  }
}

/** A SIGTERM to `npm run` ends npm and its shell, but doesn't reach us: all that can be seen is another parent. */
function whenOrphaned(run) {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    run();
  }, PARENT_CHECK_MS);
  watch.unref();
}

/** Also false for one that never started. */
export function isRunning(child) {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

async function stop(child) {
  if (!isRunning(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const impatience = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
  await ended;
  clearTimeout(impatience);
}
