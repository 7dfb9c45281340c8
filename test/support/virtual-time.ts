import { performance } from 'node:perf_hooks';

/** What reading the clock takes, ms: work that never lets go of the event loop still sees time pass. */
const READING = 0.005;
/** What a turn of the event loop takes, ms. */
const TURN = 0.05;
/** Turns of the event loop after which whatever can go on by itself has gone on. */
const QUIET_TURNS = 4;

type Callback = (...args: readonly unknown[]) => void;

class VirtualTimer {
  private isReffed = true;

  constructor(
    private readonly time: VirtualTime,
    readonly callback: () => void,
    private readonly delay: number,
    public dueAt: number,
  ) {}

  ref(): this {
    this.isReffed = true;
    return this;
  }

  unref(): this {
    this.isReffed = false;
    return this;
  }

  hasRef(): boolean {
    return this.isReffed;
  }

  refresh(): this {
    this.time.renew(this, this.delay);
    return this;
  }

  close(): this {
    this.time.remove(this);
    return this;
  }
}

/**
 * Time for a store that lives in the test's own process: when nothing can go on without it, it moves to the next timer.
 * However busy the machine is, no lease ends and no timer is late because the process stood still, and nobody waits.
 * While it is installed it stands for the clocks and timers of the whole process, so nothing in the test may wait for
 * sockets or other processes.
 */
export class VirtualTime {
  private static installed: VirtualTime | undefined;
  private readonly timers = new Set<VirtualTimer>();
  private readonly real = {
    now: Object.getOwnPropertyDescriptor(performance, 'now'),
    date: Date.now,
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
  };
  private readonly startedAt = performance.now();
  private readonly wallStartedAt = Date.now();
  private now = this.startedAt;
  private quietTurns = 0;
  private isTurning = false;
  private users = 0;

  private constructor() {
    const read = (): number => (this.now += READING);
    Object.defineProperty(performance, 'now', { value: read, configurable: true, writable: true });
    Date.now = () => Math.floor(this.wallStartedAt + this.now - this.startedAt);
    const set = (callback: Callback, delay = 0, ...args: readonly unknown[]): VirtualTimer => {
      // As in Node: whole milliseconds, and at least one.
      const whole = delay >= 1 && delay < 2 ** 31 ? Math.trunc(delay) : 1;
      const timer = new VirtualTimer(this, () => callback(...args), whole, 0);
      this.renew(timer, whole);
      return timer;
    };
    const clear = (timer?: unknown): void => {
      if (timer instanceof VirtualTimer) this.remove(timer);
      else this.real.clearTimeout(timer as NodeJS.Timeout | undefined);
    };
    globalThis.setTimeout = set as unknown as typeof globalThis.setTimeout;
    globalThis.clearTimeout = clear;
  }

  /** Installs it, unless it is installed; the returned function removes it when the last user has called theirs. */
  static start(): () => void {
    const time = (VirtualTime.installed ??= new VirtualTime());
    time.users += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      time.users -= 1;
      if (time.users === 0) time.uninstall();
    };
  }

  /** The one that is installed. */
  static get current(): VirtualTime | undefined {
    return VirtualTime.installed;
  }

  /** Timers that are set, real ones or those of virtual time. */
  static timerCount(): number {
    const real = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    return real + (VirtualTime.installed?.timers.size ?? 0);
  }

  /** Rejects when `signal` is aborted before. */
  elapse<T>(ms: number, value: T, signal?: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms, value);
      const abort = (): void => {
        clearTimeout(timer);
        reject(new Error('aborted', { cause: signal?.reason }));
      };
      if (signal?.aborted === true) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  }

  renew(timer: VirtualTimer, delay: number): void {
    // The newest of those that are due at the same time is the last.
    this.timers.delete(timer);
    timer.dueAt = this.now + delay;
    this.timers.add(timer);
    this.quietTurns = 0;
    this.turn();
  }

  remove(timer: VirtualTimer): void {
    this.timers.delete(timer);
  }

  private turn(): void {
    if (this.isTurning || this.timers.size === 0) return;
    this.isTurning = true;
    setImmediate(() => {
      this.isTurning = false;
      this.now += TURN;
      const next = this.next();
      // Work that goes from turn to turn takes its time, too.
      if (next && (next.dueAt <= this.now || ++this.quietTurns > QUIET_TURNS)) this.fire(next);
      this.turn();
    });
  }

  private next(): VirtualTimer | undefined {
    let next: VirtualTimer | undefined;
    for (const timer of this.timers) if (next === undefined || timer.dueAt < next.dueAt) next = timer;
    return next;
  }

  private fire(timer: VirtualTimer): void {
    this.quietTurns = 0;
    this.timers.delete(timer);
    this.now = Math.max(this.now, timer.dueAt);
    timer.callback();
  }

  private uninstall(): void {
    VirtualTime.installed = undefined;
    this.timers.clear();
    const { now, date, setTimeout, clearTimeout } = this.real;
    if (now === undefined) Reflect.deleteProperty(performance, 'now');
    else Object.defineProperty(performance, 'now', now);
    Date.now = date;
    globalThis.setTimeout = setTimeout;
    globalThis.clearTimeout = clearTimeout;
  }
}
