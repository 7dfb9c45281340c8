import type { TimerQueue } from '../../../common/timer-queue.js';
import { firstRoom } from '../../port/limits.js';
import type { ObservedLeases } from '../../port/observed-leases.js';
import type { Line, Place } from '../locks/line.js';
import { grantOf } from '../locks/place-data.js';
import type { LockNodes, ReadPlace } from './lock-nodes.js';

/** How many holders of one lock are looked at by callers who are not among the first that wait. */
const MOST_LOOKED_AT = 32;

/** How long one that is refused takes to leave the line, ms, and how often it is looked at meanwhile. */
const MOMENT = 40;
const LOOK_AGAIN = 8;

/** Looks at those who hold a lock, so that their leases end when they don't renew them. */
export class Holders {
  constructor(
    private readonly nodes: LockNodes,
    private readonly observed: ObservedLeases,
    private readonly timers: TimerQueue,
  ) {}

  /** ms until there may be room. All holders are looked at for a waiter in front, so that each lease that others measure ends. */
  async leaseLeft(key: string, line: Line, limit: number, isFront = false): Promise<number | undefined> {
    const holders = isFront ? line.holders : line.holders.slice(0, MOST_LOOKED_AT);
    const lefts = await Promise.all(holders.map((holder) => this.look(key, holder)));
    return firstRoom(
      limit,
      lefts.flatMap((left) => left ?? []),
    );
  }

  /**
   * Whether whoever stands first goes within a moment. One that nothing was written to since it was created may not know
   * yet that it does not go with somebody who was there before it: nobody is to be refused because of it.
   */
  async firstLeaves(key: string, { places: [first] }: Line): Promise<boolean> {
    if (first === undefined) return true;
    const path = this.nodes.pathOf(key, first.name);
    for (let waited = 0; ; waited += LOOK_AGAIN) {
      const read = await this.nodes.read(path);
      if (read === undefined) return true;
      if (read.stat.version > 0 || waited >= MOMENT) return false;
      await this.timers.within(LOOK_AGAIN, new Promise<never>(() => undefined));
    }
  }

  /** Reads one; what is left of its lease, ms. */
  async look(key: string, holder: Place): Promise<number | undefined> {
    const path = this.nodes.pathOf(key, holder.name);
    const read = await this.nodes.read(path);
    return read === undefined ? undefined : this.saw(path, read);
  }

  /** That one was seen as a holder; what is left of its lease at most, ms. */
  saw(path: string, { data, stat }: ReadPlace): number {
    // Whoever has not said yet that it holds the lock is not waited for so long.
    if (grantOf(data, stat) === undefined) return this.observed.see(path, stat.version, data.claim);
    return data.isKept ? data.lease : this.observed.see(path, stat.version, data.lease);
  }
}
