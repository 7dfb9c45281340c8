import { readFileSync } from 'node:fs';

/** Clock ticks per second of processor time in /proc. */
const TICKS = 100;

/**
 * What a store keeps, after its own housekeeping.
 *
 * @typedef {object} StoreSize
 * @property {number} entries keys, rows or nodes
 * @property {number} bytes of these and their indexes; in Redis, of the whole server
 * @property {number | undefined} connections of all processes
 */

/**
 * Reads the counters of a server. Subclasses implement `empty()`, `version()`, `size()`, and `look()`: the counters since its
 * start.
 */
export class StoreStats {
  #pid;
  #before;

  constructor(pid) {
    this.#pid = pid;
  }

  async reset() {
    this.#before = await this.look();
  }

  /** The counters of `look()` since the last reset. */
  async counts() {
    const now = await this.look();
    return Object.fromEntries(Object.entries(now).map(([name, count]) => [name, count - this.#before[name]]));
  }

  /** @returns {Promise<number>} processor time of the server so far, ms */
  async processorMs() {
    const pids = [this.#pid, ...(await this.children())];
    return pids.map(processorMsOf).reduce((sum, ms) => sum + ms, 0);
  }

  /** Stops the server. Returns a function that lets it go on. */
  async stop() {
    const pids = [this.#pid];
    // The first process first, so that it starts no others.
    process.kill(this.#pid, 'SIGSTOP');
    for (const pid of await this.children()) {
      pids.push(pid);
      process.kill(pid, 'SIGSTOP');
    }
    return () => pids.forEach((pid) => process.kill(pid, 'SIGCONT'));
  }

  /** Ids of further processes of the server. */
  async children() {
    return await Promise.resolve([]);
  }
}

/** 0 for a process that has ended: its parent includes its time. */
function processorMsOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    // User and system time of the process and of its ended children.
    return (fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) * 1_000) / TICKS;
  } catch {
    return 0;
  }
}
