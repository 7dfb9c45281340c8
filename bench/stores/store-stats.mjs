import { readFileSync } from 'node:fs';

/** What a second of processor time is in /proc. */
const TICKS = 100;

/** Counts what a server does. A store gives `empty()`, `version()`, and `look()`: what was counted since it was started. */
export class StoreStats {
  #pid;
  #before;

  constructor(pid) {
    this.#pid = pid;
  }

  async reset() {
    this.#before = await this.look();
  }

  /** Since the last reset, by the names of `look()`. */
  async counts() {
    const now = await this.look();
    return Object.fromEntries(Object.entries(now).map(([name, count]) => [name, count - this.#before[name]]));
  }

  /** @returns {Promise<number>} ms of processor time that it has used so far */
  async processorMs() {
    const pids = [this.#pid, ...(await this.children())];
    return pids.map(processorMsOf).reduce((sum, ms) => sum + ms, 0);
  }

  /** Processes that work for it. */
  async children() {
    return await Promise.resolve([]);
  }
}

/** Of a process that has ended 0: what it used is known to the one that started it. */
function processorMsOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    // Its own, and of children that have ended: user and system.
    return (fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) * 1_000) / TICKS;
  } catch {
    return 0;
  }
}
