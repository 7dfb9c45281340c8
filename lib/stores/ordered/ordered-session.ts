import { TimerQueue } from '../../common/timer-queue.js';
import { isNamed } from '../port/forwarding-session.js';
import type {
  BreakReply,
  LockStoreClient,
  NamedHold,
  StoredHold,
  StoredLock,
  StoredWaiter,
} from '../port/lock-store.js';
import { PendingReleases } from '../port/turns.js';
import type { LockQueue, OwnedEntry } from './lock-queue.js';

/** How long `inspect` waits for the holder of a pushed grant to write its token, ms. */
const TOKEN_PATIENCE = 100;
const TOKEN_PAUSE = 5;

/** A session of a store that keeps a queue of entries for each lock: everything that can be derived from the entries. */
export abstract class OrderedSession<Entry extends OwnedEntry> {
  readonly remainingIsBound = true;
  protected readonly timers: TimerQueue;
  /** Pending releases and withdrawals. */
  protected readonly releases = new PendingReleases();

  constructor(protected readonly client: LockStoreClient) {
    this.timers = new TimerQueue({ monotonic: () => client.now() }, false, true);
  }

  /** The queue after all earlier requests have been carried out. */
  protected abstract queueOf(key: string): Promise<LockQueue<Entry>>;
  /** Undefined if it is gone. */
  protected abstract storedHold(holder: Entry): Promise<StoredHold | undefined>;
  /** Undefined if it is gone. */
  protected abstract storedWaiter(waiter: Entry): Promise<StoredWaiter | undefined>;
  /** Deletes the entry of a holder and notifies its session. False if it is gone. */
  protected abstract breakEntry(holder: Entry): Promise<boolean>;

  async inspect(key: string): Promise<StoredLock | null> {
    const until = this.client.now() + TOKEN_PATIENCE;
    for (;;) {
      const { entries, holders, waiters } = await this.queueOf(key);
      const [first] = entries;
      if (first === undefined) return null;
      const [holds, queued] = await Promise.all([
        Promise.all(holders.map((holder) => this.storedHold(holder))),
        Promise.all(waiters.map((waiter) => this.storedWaiter(waiter))),
      ]);
      const known = holds.flatMap((hold) => hold ?? []);
      // A holder that left meanwhile made room for waiters.
      if (known.length < holds.length) continue;
      if (known.every(({ token }) => token !== undefined) || this.client.now() >= until)
        return { limit: first.limit, holders: known, waiters: queued.flatMap((waiter) => waiter ?? []) };
      // Ends early if the session closes; the next read then fails.
      await this.timers.within(TOKEN_PAUSE, new Promise(() => undefined));
    }
  }

  async breakHold(key: string, hold?: NamedHold): Promise<BreakReply> {
    if (hold === undefined) {
      const { holders } = await this.queueOf(key);
      const broken = await Promise.all(holders.map((holder) => this.breakEntry(holder)));
      return broken.includes(true) ? 'broken' : 'free';
    }
    for (;;) {
      const { entries, holders } = await this.queueOf(key);
      const owned = holders.filter(({ owner }) => hold.owner === undefined || hold.owner === owner);
      const stored = await Promise.all(owned.map((holder) => this.storedHold(holder)));
      // A holder that left meanwhile made room for waiters.
      if (stored.includes(undefined)) continue;
      const named = owned[stored.findIndex((each) => each !== undefined && isNamed(each, hold))];
      if (named === undefined) return entries.length === 0 ? 'free' : 'held-by-others';
      if (await this.breakEntry(named)) return 'broken';
    }
  }
}
