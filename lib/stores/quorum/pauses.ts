import { IndexedHeap, type HeapItem } from '../../common/indexed-heap.js';
import type { MonotonicMs } from '../port/lock-store.js';

export interface Pause extends HeapItem {
  readonly dueAt: number;
  readonly fire: () => void;
}

/** The pauses of a session, on one native timer, which is no reason for the process not to exit (B14). */
export class Pauses {
  private readonly heap = new IndexedHeap<Pause>((pause) => pause.dueAt);
  private timer: NodeJS.Timeout | undefined;
  private timerAt = Infinity;
  private closed = false;
  private readonly limited = new Set<() => void>();

  constructor(private readonly now: () => MonotonicMs) {}

  /** Calls `fire` after so many ms, unless it is cleared before or the session is closed. */
  after(ms: number, fire: () => void): Pause {
    const pause = { heapIndex: -1, dueAt: this.now() + ms, fire };
    if (this.closed) return pause;
    this.heap.push(pause);
    if (pause.dueAt < this.timerAt) this.arm();
    return pause;
  }

  clear(pause: Pause | undefined): void {
    if (pause !== undefined && pause.heapIndex !== -1) this.heap.remove(pause);
    if (this.heap.size === 0) this.disarm();
  }

  /** Resolves with `work`, but no later than in `ms`, or when the session is closed. */
  async within(ms: number, work: Promise<unknown>): Promise<void> {
    if (this.closed) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.clear(limit);
        this.limited.delete(done);
        resolve();
      };
      const limit = this.after(ms, done);
      this.limited.add(done);
      work.then(done, done);
    });
  }

  /** Ends all pauses; only those who wait within a limit are told. */
  close(): void {
    this.closed = true;
    for (let pause = this.heap.peek(); pause !== undefined; pause = this.heap.peek()) this.heap.remove(pause);
    this.disarm();
    for (const done of this.limited) done();
  }

  private arm(): void {
    this.disarm();
    const next = this.heap.peek();
    if (next === undefined) return;
    this.timerAt = next.dueAt;
    // What has arrived by then is read first: an answer is not late because this process was busy.
    const ring = (): void => void setImmediate(this.ring);
    this.timer = setTimeout(ring, Math.max(0, Math.ceil(next.dueAt - this.now())));
    this.timer.unref();
  }

  private disarm(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.timerAt = Infinity;
  }

  private readonly ring = (): void => {
    this.disarm();
    const now = this.now();
    for (let next = this.heap.peek(); next !== undefined && next.dueAt <= now; next = this.heap.peek()) {
      this.heap.remove(next);
      next.fire();
    }
    this.arm();
  };
}
