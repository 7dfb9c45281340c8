import { setTimeout as nativeSetTimeout } from 'node:timers';
import { later, LONGEST_TIME, systemTimers, type Clock, type LockTimers, type MonotonicMs } from './clock.js';
import { detachedContext } from './detached-context.js';

/** A callback at a given time. `fire` is called once, when that time has come. */
export interface Timer extends HeapItem {
  dueAt: MonotonicMs;
  fire(now: MonotonicMs): void;
}

/** Many timers on one native timer. They follow the clock. */
export class TimerQueue {
  private readonly queue = new MostlyOrderedQueue<Timer>((timer) => timer.dueAt);
  private readonly timers: LockTimers;
  private timer: unknown;
  private timerAt = Infinity;
  private isClosed = false;
  /** Whether the native timer is left running although no timer is set. */
  private isIdle = false;
  /** The `setTimeout` that created the native timer: fake timers of a test may have been installed or removed since. */
  private setWith: unknown;

  /**
   * @param keepsProcessAlive whether a pending timer keeps the process alive
   * @param readsInputFirst whether timers fire after input that has arrived by then was read: a reply is not late
   * because this process was busy
   */
  constructor(
    private readonly clock: Pick<Clock, 'monotonic' | 'timers'>,
    private readonly keepsProcessAlive: boolean,
    readsInputFirst = false,
  ) {
    this.timers = clock.timers ?? systemTimers;
    if (readsInputFirst) this.onTimeout = () => void setImmediate(this.fireDue);
  }

  /** Sets a timer, or moves it if it is set already. Does nothing after `close`. */
  set(timer: Timer, dueAt: MonotonicMs): void {
    this.queue.remove(timer);
    if (this.isClosed) return;
    timer.dueAt = dueAt;
    this.queue.push(timer);
    if (dueAt < this.timerAt || (this.isIdle && !this.resumes())) this.arm();
  }

  /** Calls back after this many ms, unless the returned timer is cleared before. */
  after(ms: number, fire: () => void): Timer {
    const timer = new CallbackTimer(fire);
    this.set(timer, later(this.clock.monotonic(), ms));
    return timer;
  }

  clear(timer: Timer): void {
    this.queue.remove(timer);
    if (this.queue.size === 0) this.rest();
  }

  /** Drops all timers, but ends all waits of `within` at once. */
  close(): void {
    this.isClosed = true;
    const now = this.clock.monotonic();
    for (let timer = this.queue.peek(); timer !== undefined; timer = this.queue.peek()) {
      this.queue.remove(timer);
      if (timer instanceof TimeLimit) timer.fire(now);
    }
    this.disarm();
  }

  get size(): number {
    return this.queue.size;
  }

  /** Resolves with `work`, but no later than in `ms`, or when the queue is closed. */
  async within(ms: number, work: Promise<unknown>): Promise<void> {
    if (this.isClosed) return;
    await new Promise<void>((resolve) => {
      const limit = new TimeLimit(() => {
        resolve();
      });
      this.set(limit, later(this.clock.monotonic(), ms));
      const done = (): void => {
        this.clear(limit);
        resolve();
      };
      work.then(done, done);
    });
  }

  /**
   * Most waits end shortly and are followed by the next one, which is due later: a native timer that fires in vain
   * costs less than one that is cleared and set for each wait. Fake timers of a test would run it.
   */
  private rest(): void {
    if (this.setWith !== nativeSetTimeout || this.clock.timers !== undefined || this.timer === undefined) {
      this.disarm();
      return;
    }
    this.isIdle = true;
    if (this.keepsProcessAlive) (this.timer as NodeJS.Timeout).unref();
  }

  /** Whether the native timer that was left running serves the next timer. */
  private resumes(): boolean {
    this.isIdle = false;
    if (this.setWith !== globalThis.setTimeout) return false;
    if (this.keepsProcessAlive) (this.timer as NodeJS.Timeout).ref();
    return true;
  }

  private arm(): void {
    const next = this.queue.peek();
    this.disarm();
    if (next === undefined) return;
    // Node's timers count whole milliseconds and may fire a fraction early.
    const delay = nativeDelay(next.dueAt - this.clock.monotonic());
    this.timerAt = next.dueAt;
    this.setWith = globalThis.setTimeout;
    this.timer = detachedContext.call(this.startTimer, delay);
  }

  private disarm(): void {
    if (this.timer !== undefined) this.timers.clear(this.timer);
    this.timer = undefined;
    this.timerAt = Infinity;
    this.isIdle = false;
  }

  private readonly startTimer = (delay: number): unknown =>
    this.timers.set(this.onTimeout, delay, this.keepsProcessAlive);

  private readonly fireDue = (): void => {
    this.disarm();
    const now = this.clock.monotonic();
    try {
      for (let next = this.queue.peek(); next !== undefined && next.dueAt <= now; next = this.queue.peek()) {
        this.queue.remove(next);
        next.fire(now);
      }
    } finally {
      // Whatever one of them threw, the others must fire.
      this.arm();
    }
  };

  private readonly onTimeout: () => void = this.fireDue;
}

/** Longer delays, ms, are rounded: see below. */
const EXACT = 1_024;

/**
 * The delay of the native timer. Node keeps a list for each different delay until that has passed, also when its timers were
 * cleared: a far timer that is set again in every millisecond would leave a list each time. So far timers have one of few
 * delays, are early, and are set again then.
 */
function nativeDelay(left: number): number {
  const delay = Math.ceil(Math.min(Math.max(left, 0), LONGEST_TIME));
  return delay <= EXACT ? delay : 2 ** Math.floor(Math.log2(delay));
}

/** A timer that calls a function. */
export class CallbackTimer implements Timer {
  heapIndex = -1;
  dueAt = 0 as MonotonicMs;

  constructor(readonly fire: (now: MonotonicMs) => void) {}
}

class TimeLimit extends CallbackTimer {}

/** An item that knows its index in the heap, so that it can be removed without a search. */
export interface HeapItem {
  /** Initially -1. */
  heapIndex: number;
}

/** Binary min-heap with removal of any item in O(log n). An item is in one heap at a time. */
export class IndexedHeap<T extends HeapItem> {
  private readonly items: T[] = [];

  constructor(private readonly rank: (item: T) => number) {}

  get size(): number {
    return this.items.length;
  }

  peek(): T | undefined {
    return this.items[0];
  }

  push(item: T): void {
    this.items.push(item);
    this.rise(item, this.items.length - 1);
  }

  remove(item: T): void {
    const index = item.heapIndex;
    if (this.items[index] !== item) return;
    item.heapIndex = -1;
    const last = this.items.pop();
    if (last === undefined || last === item) return;
    this.sink(last, index);
    this.rise(last, last.heapIndex);
  }

  private rise(item: T, from: number): void {
    let index = from;
    const rank = this.rank(item);
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.items[parentIndex];
      if (parent === undefined || this.rank(parent) <= rank) break;
      this.place(parent, index);
      index = parentIndex;
    }
    this.place(item, index);
  }

  private sink(item: T, from: number): void {
    let index = from;
    const rank = this.rank(item);
    for (;;) {
      const left = this.items[2 * index + 1];
      const right = this.items[2 * index + 2];
      const child =
        right !== undefined && left !== undefined && this.rank(right) < this.rank(left) ? right : left;
      if (child === undefined || this.rank(child) >= rank) break;
      const childIndex = child.heapIndex;
      this.place(child, index);
      index = childIndex;
    }
    this.place(item, index);
  }

  private place(item: T, index: number): void {
    this.items[index] = item;
    item.heapIndex = index;
  }
}

/** `heapIndex` of an item that stands in no queue; below it are the places in the line. */
const NOWHERE = -1;
const FIRST_PLACE = -2;
/** The line is written anew when so many of its places per item are empty, and these in addition. */
const EMPTY_PER_ITEM = 2;
const EMPTY_AT_LEAST = 64;

/**
 * Priority queue for items most of which come in the order of their ranks, such as waits that are equally long. Those
 * stand in a line, where putting in and taking out of any of them is O(1), amortized; the others are in a heap. An item
 * is in one queue at a time.
 */
export class MostlyOrderedQueue<T extends HeapItem> {
  private heap: IndexedHeap<T> | undefined;
  private line: (T | undefined)[] = [];
  /** Of the first item in the line, or the length of the line. */
  private front = 0;
  private inLine = 0;
  private lastRank = -Infinity;

  constructor(private readonly rank: (item: T) => number) {}

  get size(): number {
    return this.heap === undefined ? this.inLine : this.heap.size + this.inLine;
  }

  peek(): T | undefined {
    const inLine = this.line[this.front];
    const inHeap = this.heap?.peek();
    if (inLine === undefined) return inHeap;
    return inHeap !== undefined && this.rank(inHeap) < this.rank(inLine) ? inHeap : inLine;
  }

  push(item: T): void {
    const rank = this.rank(item);
    if (rank < this.lastRank) {
      this.heap ??= new IndexedHeap<T>(this.rank);
      this.heap.push(item);
      return;
    }
    this.lastRank = rank;
    item.heapIndex = FIRST_PLACE - this.line.length;
    this.line.push(item);
    this.inLine += 1;
  }

  remove(item: T): void {
    if (item.heapIndex > NOWHERE) this.heap?.remove(item);
    else if (item.heapIndex < NOWHERE && this.line[FIRST_PLACE - item.heapIndex] === item) this.leave(item);
  }

  private leave(item: T): void {
    const { line } = this;
    line[FIRST_PLACE - item.heapIndex] = undefined;
    item.heapIndex = NOWHERE;
    this.inLine -= 1;
    if (this.inLine === 0) {
      // Setting `length` is a slow call of the engine, and many queues have one item at a time.
      if (line.length === 1) line.pop();
      else this.line = [];
      this.front = 0;
      this.lastRank = -Infinity;
      return;
    }
    while (line[this.front] === undefined) this.front += 1;
    if (line.length > (1 + EMPTY_PER_ITEM) * this.inLine + EMPTY_AT_LEAST) this.closeUp();
  }

  private closeUp(): void {
    const all = this.line;
    this.line = [];
    this.front = 0;
    for (const item of all) {
      if (item === undefined) continue;
      item.heapIndex = FIRST_PLACE - this.line.length;
      this.line.push(item);
    }
  }
}
