import { spawn } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { whenReady } from '../servers/processes.mjs';
import { SetupError } from '../setup.mjs';

/** Thrown by attempts to start something during the shutdown of the demo. */
export class InterruptedError extends Error {
  name = 'InterruptedError';
}

const GRACE_MS = 5_000;
const PARENT_CHECK_MS = 200;
/** How much of a child's output is kept for error messages, characters. */
const OUTPUT_KEPT = 4_000;

/** Tracks all processes and folders of the demo, so that none of them outlives it, however it ends. */
export class Leftovers {
  #children = [];
  #folders = new Set();
  #tasks = [];
  #removing;
  #interruption = new AbortController();
  /** Set when a signal is the expected end, so that the caller sees this exit code instead of that of the signal. */
  exitCodeOnSignal;

  constructor() {
    // Every pending request adds a listener.
    setMaxListeners(0, this.signal);
    // For uncaught errors and a second Ctrl-C: only synchronous clean-up is possible.
    process.on('exit', () => {
      for (const { child } of this.#children) if (isRunning(child)) child.kill('SIGKILL');
      this.#removeFolders();
    });
  }

  /** Aborted by the first signal. */
  get signal() {
    return this.#interruption.signal;
  }

  get interrupted() {
    return this.signal.aborted;
  }

  /** Shuts down in order at the first signal, and exits immediately at the second. */
  removeOnSignals() {
    const stop = (signal) => {
      const code = this.exitCodeOnSignal ?? 128 + constants.signals[signal];
      if (this.interrupted) process.exit(code);
      process.stdout.write('\nStopping …\n');
      this.#interruption.abort(new InterruptedError());
      void this.remove().then(() => process.exit(code));
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(signal));
    if (process.env['npm_lifecycle_event']) whenOrphaned(() => stop('SIGTERM'));
  }

  /**
   * Handles a signal that arrived during synchronous work.
   * @throws {InterruptedError} after a signal
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

  /** Registers a clean-up task. It runs after all processes have ended. */
  task(run) {
    this.#tasks.push(run);
  }

  /**
   * Starts a process in its own process group, so that Ctrl-C reaches only this process, which stops the others in order.
   * @returns {{ child: import('node:child_process').ChildProcess, output: () => string }}
   */
  spawn(command, args, options) {
    if (this.interrupted) throw new InterruptedError();
    const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (output = (output + text).slice(-OUTPUT_KEPT)));
    }
    // Without a listener, a program that can't be started would cause an uncaught exception.
    child.on('error', (error) => (output += error.message));
    const started = { child, output: () => output.trim() };
    this.#children.push(started);
    return started;
  }

  /**
   * Ends all processes, runs all tasks and removes all folders.
   *
   * @returns {Promise<void>}
   */
  remove() {
    this.#removing ??= this.#removeAll();
    return this.#removing;
  }

  async #removeAll() {
    await Promise.all(this.#children.map(({ child }) => stop(child)));
    for (const run of this.#tasks) await run().catch((error) => process.stderr.write(`${error.message}\n`));
    this.#removeFolders();
  }

  #removeFolders() {
    for (const path of this.#folders) rmSync(path, { recursive: true, force: true });
    this.#folders.clear();
  }
}

/**
 * Runs a command, and removes what it has started, however it ends.
 *
 * @param {(leftovers: Leftovers) => Promise<void>} command
 */
export async function withLeftovers(command) {
  const leftovers = new Leftovers();
  leftovers.removeOnSignals();
  try {
    await command(leftovers);
  } catch (error) {
    // Errors caused by the shutdown itself are expected.
    if (!leftovers.interrupted) throw error;
  } finally {
    await leftovers.remove();
  }
  // The signal handler ends the process, with the exit code of the signal.
  if (leftovers.interrupted) await new Promise(() => {});
}

/** A SIGTERM to `npm run` ends npm and its shell without reaching this process, which only sees that its parent changes. */
function whenOrphaned(run) {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    run();
  }, PARENT_CHECK_MS);
  watch.unref();
}

/**
 * Waits until a process reports that it is ready.
 *
 * @returns {Promise<RegExpExecArray>}
 * @throws {SetupError} with its output, if it ends first
 */
export async function untilReady(name, child, pattern) {
  const { isReady, output } = await whenReady(child, pattern);
  if (!isReady) throw new SetupError(`${name} ended before it was ready. Its last output:\n${output}`);
  return pattern.exec(output);
}

/** Also false for a process that never started. */
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
