import { later, type Clock } from '../../common/clock.js';
import { CallbackTimer, type TimerQueue } from '../../common/timer-queue.js';
import type { Lease } from './lease.js';

/** For how long, ms, nobody watches over a lease; shorter than the shortest of them. */
const UNWATCHED = 5;

/** Runs what follows after the microtasks that are queued already. */
const SOON = Promise.resolve();

/**
 * The leases of this process that are neither released nor lost. Most are over a moment after they were granted, and need
 * nobody to watch over them: to find out for each at the end of its tick costs more. One that was pushed is claimed then.
 */
export class HeldLeases {
  private readonly watched = new Set<Lease>();
  private newcomers: Lease[] = [];
  /** How many of those are not over. */
  private newcomersLeft = 0;
  private isClaiming = false;
  private onDrained: (() => void) | undefined;
  private readonly end = new CallbackTimer(() => {
    this.watchNow();
  });

  /** @param watch called for those that are still held after that moment */
  constructor(
    private readonly clock: Pick<Clock, 'monotonic'>,
    private readonly timers: TimerQueue,
    private readonly watch: (lease: Lease) => void,
  ) {}

  /** All of them, each of which is watched over from now on. */
  get all(): ReadonlySet<Lease> {
    this.watchNow();
    return this.watched;
  }

  get isNoneWatched(): boolean {
    return this.watched.size === 0;
  }

  add(lease: Lease): void {
    this.newcomers.push(lease);
    this.newcomersLeft += 1;
    if (lease.unclaimed) this.claimSoon();
    else if (this.end.heapIndex === -1) this.timers.set(this.end, later(this.clock.monotonic(), UNWATCHED));
  }

  /** It is over. */
  remove(lease: Lease): void {
    if (lease.isWatched) this.watched.delete(lease);
    else this.leaveNewcomers(lease);
    if (this.watched.size === 0) this.onDrained?.();
  }

  /** Resolves when there is none. */
  drained(): Promise<void> {
    if (this.all.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.onDrained = resolve;
    });
  }

  readonly watchNow = (): void => {
    const { newcomers } = this;
    this.isClaiming = false;
    if (newcomers.length === 0) return;
    this.clearNewcomers();
    for (const lease of newcomers) {
      if (lease.state !== 'held') continue;
      lease.isWatched = true;
      this.watched.add(lease);
      this.watch(lease);
    }
  };

  private leaveNewcomers(lease: Lease): void {
    if (this.newcomersLeft === 0) return;
    this.newcomersLeft -= 1;
    if (this.newcomers[this.newcomers.length - 1] === lease) this.newcomers.pop();
    if (this.newcomersLeft === 0) this.clearNewcomers();
  }

  private clearNewcomers(): void {
    if (this.newcomers.length > 0) this.newcomers = [];
    this.newcomersLeft = 0;
    if (this.end.heapIndex !== -1) this.timers.clear(this.end);
  }

  private claimSoon(): void {
    if (this.isClaiming) return;
    this.isClaiming = true;
    void SOON.then(this.claimLater);
  }

  private readonly claimLater = (): void => {
    process.nextTick(this.watchNow);
  };
}
