import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const alive = new Set();

/** Kills all actors that are still running, including stopped ones. */
export function killAllActors() {
  for (const child of alive) child.kill('SIGKILL');
}

/** A process that runs a file of `actors/`, and whose functions this process can call. */
export class Actor {
  #child;
  #calls = 0;
  #pending = new Map();

  /**
   * @param {string} file name in `actors/`
   * @param {{ execArgv?: string[], build?: string }} [options] `build`: URL of another build of this library
   */
  constructor(file, { execArgv = [], build } = {}) {
    this.file = file;
    this.#child = fork(fileURLToPath(new URL(`../actors/${file}`, import.meta.url)), {
      execArgv,
      env: build === undefined ? process.env : { ...process.env, BENCH_BUILD: build },
      // stdout is reserved for the tables.
      stdio: ['ignore', 2, 2, 'ipc'],
      serialization: 'advanced',
    });
    alive.add(this.#child);
    this.exited = once(this.#child, 'exit');
    this.#child.once('exit', (code, signal) => {
      alive.delete(this.#child);
      for (const { reject } of this.#pending.values()) {
        reject(new Error(`${file} ended (${signal ?? code}) during a call`));
      }
      this.#pending.clear();
    });
    this.#child.on('message', ({ id, result, error }) => {
      const call = this.#pending.get(id);
      this.#pending.delete(id);
      if (error === undefined) call?.resolve(result);
      else call?.reject(new Error(`${file}: ${error}`));
    });
  }

  /** Calls a function of the file. */
  call(method, ...args) {
    const id = ++this.#calls;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#child.send({ id, method, args }, (error) => {
        if (error && this.#pending.delete(id)) reject(error);
      });
    });
  }

  /** @param {NodeJS.Signals} signal */
  signal(signal) {
    this.#child.kill(signal);
  }

  /** Kills the process. The measurement is complete, and the server is flushed afterwards. */
  async kill() {
    this.#pending.clear();
    this.#child.kill('SIGKILL');
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.exited;
  }
}
