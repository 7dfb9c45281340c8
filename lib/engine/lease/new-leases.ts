import { later, type Clock } from '../../common/clock.js';
import { CallbackTimer, type TimerQueue } from '../../common/timer-queue.js';
import type { Lease } from './lease.js';

/** For how long, ms, nobody watches over a lease; shorter than the shortest of them. */
const UNWATCHED = 5;

/** Runs what follows after the microtasks that are queued already. */
const SOON = Promise.resolve();

/**
 * Leases that were granted a moment ago. Most are over before it has passed, and need nobody to watch over them: to find
 * out for each at the end of its tick costs more. One that was pushed is claimed then.
 */
export class NewLeases {
  private leases: Lease[] = [];
  /** How many of those are not over. */
  private size = 0;
  private isClaiming = false;
  private readonly end = new CallbackTimer(() => {
    this.watchNow();
  });

  /** @param watch called for those that are held by then */
  constructor(
    private readonly clock: Pick<Clock, 'monotonic'>,
    private readonly timers: TimerQueue,
    private readonly watch: (lease: Lease) => void,
  ) {}

  add(lease: Lease): void {
    this.leases.push(lease);
    this.size += 1;
    if (lease.unclaimed) this.claimSoon();
    else if (this.end.heapIndex === -1) this.timers.set(this.end, later(this.clock.monotonic(), UNWATCHED));
  }

  /** It is over. */
  remove(lease: Lease): void {
    if (this.size === 0) return;
    this.size -= 1;
    if (this.leases[this.leases.length - 1] === lease) this.leases.pop();
    if (this.size === 0) this.clear();
  }

  /** Before somebody looks at all leases. */
  readonly watchNow = (): void => {
    const { leases } = this;
    this.isClaiming = false;
    if (leases.length === 0) return;
    this.clear();
    for (const lease of leases) if (lease.state === 'held') this.watch(lease);
  };

  private clear(): void {
    if (this.leases.length > 0) this.leases = [];
    this.size = 0;
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
