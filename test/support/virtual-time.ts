import { performance } from 'node:perf_hooks';
import { LocalTraffic } from './local-traffic.js';
import { canSetServerClocks } from './server-clock.js';
import { ServerGroup, type TimedServer } from './timed-server.js';
import { watchSockets } from './watched-sockets.js';

/** The cost of reading the clock, ms: work that never yields still sees time pass. */
const READING = 0.005;
/** The cost of a turn of the event loop, ms. */
const TURN = 0.02;
/** Turns of the event loop after which all pending work of this process is done. */
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
 * Time under the test's control, for stores in its own process and for servers with adjustable clocks: when no work is
 * left, it jumps to the next timer. However busy the machine is, no lease expires and no timer is late because a process
 * was suspended, and tests need not wait. While it is installed it replaces the clocks and timers of the whole process,
 * so tests must not wait for processes other than those servers.
 */
export class VirtualTime {
  private static installed: VirtualTime | undefined;
  private readonly timers = new Set<VirtualTimer>();
  private readonly groups: ServerGroup[] = [];
  private readonly traffic = new LocalTraffic();
  private readonly real = {
    now: Object.getOwnPropertyDescriptor(performance, 'now'),
    date: Date.now,
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
  };
  private readonly startedAt = performance.now();
  private readonly wallStartedAt = Date.now();
  private now = this.startedAt;
  /** Counts everything that may cause more work: timers that are set or fire, and bytes sent. */
  private activity = 0;
  private readonly unwatchSockets: () => void;
  private isRunning = false;
  private users = 0;

  private constructor() {
    const read = (): number => (this.now += READING);
    Object.defineProperty(performance, 'now', { value: read, configurable: true, writable: true });
    Date.now = () => Math.floor(this.wall);
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
    this.unwatchSockets = watchSockets((socket, act) => {
      if (this.groups.some((group) => group.uses(socket))) return;
      this.activity += 1;
      this.traffic.seen(socket);
      if (act === 'push') return;
      const behind = this.groups.filter((group) => group.isBehind(socket));
      for (const group of behind) this.ask(group);
      // Traffic from or to a proxy: bytes inside this process take a while, too.
      if (behind.length === 0) for (const group of this.groups) group.isAsked = true;
    });
  }

  /**
   * Installs it, unless it is installed; the returned function removes it after the last user has called theirs. Does
   * nothing on machines where server clocks can't be set: there the test runs in real time.
   *
   * @param groups the user's servers, by groups that communicate
   */
  static async start(...groups: readonly (readonly TimedServer[])[]): Promise<() => void> {
    if (groups.length > 0 && !canSetServerClocks) return () => undefined;
    const opened = await Promise.all(groups.map((servers) => ServerGroup.open(servers)));
    const time = (VirtualTime.installed ??= new VirtualTime());
    time.users += 1;
    time.groups.push(...opened);
    for (const group of opened) time.ask(group);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      for (const group of opened) {
        time.groups.splice(time.groups.indexOf(group), 1);
        group.close();
      }
      time.users -= 1;
      if (time.users === 0) time.uninstall();
    };
  }

  /** The installed instance. */
  static get current(): VirtualTime | undefined {
    return VirtualTime.installed;
  }

  /** The number of active timers: virtual ones, if installed, and all real ones of the process. */
  static timerCount(): { readonly virtual: number; readonly real: number } {
    const real = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    return { virtual: VirtualTime.installed?.timers.size ?? 0, real };
  }

  /** Rejects if `signal` is aborted first. */
  elapse<T>(ms: number, value: T, signal?: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', abort);
        resolve(value);
      }, ms);
      const abort = (): void => {
        clearTimeout(timer);
        reject(new Error('aborted', { cause: signal?.reason }));
      };
      if (signal?.aborted === true) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  }

  renew(timer: VirtualTimer, delay: number): void {
    // Timers with the same due time fire in the order in which they were set.
    this.timers.delete(timer);
    timer.dueAt = this.now + delay;
    this.timers.add(timer);
    this.activity += 1;
    if (!this.isRunning) void this.run();
  }

  remove(timer: VirtualTimer): void {
    this.timers.delete(timer);
  }

  private get wall(): number {
    return this.wallStartedAt + this.now - this.startedAt;
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    while (this.timers.size > 0) {
      const before = this.activity;
      for (let turn = 0; turn < QUIET_TURNS; turn++) {
        await endOfTurn();
        // Work that continues from turn to turn takes time, too.
        this.now += TURN;
        for (let due = this.next(); due && due.dueAt <= this.now; due = this.next()) this.fire(due);
      }
      if (before !== this.activity || !(await this.serversAreIdle())) continue;
      const next = this.next();
      if (next) this.fire(next);
    }
    this.isRunning = false;
  }

  /** Whether the servers have answered everything without causing new work. */
  private async serversAreIdle(): Promise<boolean> {
    // A long message arrives in several pieces.
    if (this.traffic.isUnderWay()) return false;
    const asked = this.groups.filter((group) => group.isAsked);
    if (asked.length === 0) return true;
    const before = this.activity;
    // Twice: a reply may be under way between two sockets.
    for (let round = 0; round < 2; round++) {
      const idle = await Promise.all(asked.map((group) => group.isIdle()));
      if (idle.includes(false)) return false;
      for (let turn = 0; turn < QUIET_TURNS; turn++) await endOfTurn();
      if (before !== this.activity) return false;
    }
    for (const group of asked) group.isAsked = false;
    return true;
  }

  private next(): VirtualTimer | undefined {
    let next: VirtualTimer | undefined;
    for (const timer of this.timers) if (next === undefined || timer.dueAt < next.dueAt) next = timer;
    return next;
  }

  private fire(timer: VirtualTimer): void {
    this.timers.delete(timer);
    // The timer's effects come first, also if it was due in the last quiet turn.
    this.activity += 1;
    this.now = Math.max(this.now, timer.dueAt);
    // Servers without requests do not read their clocks before the next request.
    for (const group of this.groups) if (group.isAsked) group.tell(this.now, this.wall);
    timer.callback();
  }

  /** To be called before a server can read a request. */
  private ask(group: ServerGroup): void {
    group.isAsked = true;
    group.tell(this.now, this.wall);
  }

  private uninstall(): void {
    VirtualTime.installed = undefined;
    this.timers.clear();
    this.unwatchSockets();
    const { now, date, setTimeout, clearTimeout } = this.real;
    if (now === undefined) Reflect.deleteProperty(performance, 'now');
    else Object.defineProperty(performance, 'now', now);
    Date.now = date;
    globalThis.setTimeout = setTimeout;
    globalThis.clearTimeout = clearTimeout;
  }
}

function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
