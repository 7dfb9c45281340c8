import { createRequire } from 'node:module';
import { Random } from '../soak/random.mjs';

const require = createRequire(import.meta.url);
const runImmediate = globalThis.setImmediate;

/** Promises go on until they wait for an event. */
const settled = () => new Promise((resolve) => runImmediate(resolve));

/** 2030-01-01, so that fencing tokens of every run are the same. */
export const EPOCH = 1_893_456_000_000;

/** The world that runs now: clocks, timers and random numbers of this process are its own. */
let current;

export function takeOverTime() {
  performance.now = () => current.now;
  Date.now = () => EPOCH + Math.floor(current.now);
  globalThis.setTimeout = (callback, ms = 0, ...args) => current.after(ms, () => callback(...args));
  globalThis.setImmediate = (callback, ...args) => {
    current.immediates.push(() => callback(...args));
    return {};
  };
  globalThis.clearTimeout = (timer) => timer && (timer.isCleared = true);
  Math.random = () => current.random.next();
  const crypto = require('node:crypto');
  crypto.randomBytes = (size) =>
    Buffer.from(Array.from({ length: size }, () => current.random.between(0, 255)));
  // Both are parts of client ids, which break ties between the owners of a quorum.
  require('node:os').hostname = () => 'simulated';
  Object.defineProperty(process, 'pid', { value: 1 });
}

/** The clock of an engine whose timers are events of this place. */
export const clockIn = (world, place) => ({
  monotonic: () => world.now,
  wall: () => Date.now(),
  timers: {
    set: (callback, ms) => world.after(ms, callback, place),
    clear: (timer) => (timer.isCleared = true),
  },
});

/** Events in the order of their times. Those of one time run in an order that the seed decides. */
class EventHeap {
  #items = [];

  get size() {
    return this.#items.length;
  }

  get first() {
    return this.#items[0];
  }

  push(item) {
    const items = this.#items;
    let at = items.push(item) - 1;
    for (let up = (at - 1) >> 1; at > 0 && isBefore(item, items[up]); up = (at - 1) >> 1) {
      items[at] = items[up];
      at = up;
    }
    items[at] = item;
  }

  pop() {
    const items = this.#items;
    const [first] = items;
    const last = items.pop();
    if (items.length === 0) return first;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down >= items.length) break;
      if (down + 1 < items.length && isBefore(items[down + 1], items[down])) down += 1;
      if (!isBefore(items[down], last)) break;
      items[at] = items[down];
      at = down;
    }
    items[at] = last;
    return first;
  }
}

const isBefore = (one, other) =>
  one.dueAt < other.dueAt || (one.dueAt === other.dueAt && one.tie < other.tie);

/**
 * Virtual time. Each timer and each message is an event of a process or a server; a place that stands still (blocked event loop,
 * SIGSTOP) has its events later.
 */
export class VirtualWorld {
  now = 1_000;
  events = 0;
  /** Of everything that has happened: two runs of one seed have the same. */
  digest = 0;
  /** The place whose event runs now; timers that it sets are its own. */
  place;
  /** What runs at the end of the present turn of the event loop. */
  immediates = [];
  /** What happened last, for the report of a violation. */
  history = [];
  #heap = new EventHeap();

  constructor(seed) {
    this.random = new Random(seed);
    current = this;
  }

  after(ms, callback, place = this.place) {
    const event = {
      dueAt: this.now + Math.max(0, ms),
      tie: this.random.next(),
      callback,
      place,
      isCleared: false,
    };
    event.unref = event.ref = () => event;
    this.#heap.push(event);
    return event;
  }

  note(...words) {
    this.history.push([this.now.toFixed(1), ...words]);
    if (this.history.length > 2_000) this.history.splice(0, 1_000);
  }

  /**
   * Runs one event, and what else is due at its place: one turn of an event loop. Returns false if there is none until
   * that time.
   */
  async step(until) {
    const event = this.#next(until);
    if (event === undefined) return false;
    await this.#run(event);
    for (let next; event.place !== undefined && (next = this.#heap.first) !== undefined;) {
      if (next.place !== event.place || next.dueAt > this.now) break;
      this.#heap.pop();
      if (!next.isCleared) await this.#run(next);
    }
    while (this.immediates.length > 0) {
      for (const immediate of this.immediates.splice(0)) immediate();
      await settled();
    }
    return true;
  }

  #next(until) {
    for (;;) {
      if (this.#heap.size === 0) return undefined;
      const event = this.#heap.pop();
      if (event.isCleared) continue;
      const { stalledUntil = 0 } = event.place ?? {};
      if (stalledUntil > event.dueAt) {
        event.dueAt = stalledUntil;
        this.#heap.push(event);
        continue;
      }
      if (event.dueAt > until) {
        this.#heap.push(event);
        this.now = until;
        return undefined;
      }
      return event;
    }
  }

  async #run(event) {
    this.now = Math.max(this.now, event.dueAt);
    this.events += 1;
    this.place = event.place;
    event.callback();
    await settled();
    this.digest = (Math.imul(this.digest ^ Math.round(this.now * 1_000), 0x01000193) + this.events) >>> 0;
  }
}
