import { LockStoreError, type ReleaseReply } from '../port/lock-store.js';
import type { QuorumContext } from './quorum-context.js';
import { Departure, INSISTENCE } from './member-releases.js';
import { decided, failureOf } from './majority.js';
import type { MemberState } from './member-state.js';

type Reply = ReleaseReply | 'cancelled';

/** How an owner leaves one member: answers what does so, as often as it takes. */
export type Way = (seat: MemberState) => () => Promise<Reply>;

/** The way of an owner out of all members that may know it. */
export class QuorumRelease {
  private readonly departures = new Map<number, Departure<Reply>>();
  private readonly members: number;
  private isTold = false;
  private isSeenOff = false;

  /**
   * @param needed how many members had to grant the lock
   * @param onEnd told when there is nothing left to do
   */
  constructor(
    private readonly electorate: QuorumContext,
    private readonly seats: readonly MemberState[],
    private readonly needed: number,
    way: Way,
    private readonly onEnd: () => void,
  ) {
    this.members = seats.length;
    for (const [index, seat] of seats.entries()) {
      if (seat.mayBeKnown) this.departures.set(index, new Departure(way(seat)));
    }
  }

  /** Whether every member has confirmed. */
  get isOver(): boolean {
    return [...this.departures.values()].every(({ isDone }) => isDone);
  }

  /** Tells all members, and waits a little for some. */
  async begin(isAwaited: (index: number) => boolean): Promise<void> {
    const awaited: Promise<unknown>[] = [];
    for (const [index, departure] of this.departures) {
      // It is tried again.
      const answer = departure.attempt().catch(() => undefined);
      if (isAwaited(index)) awaited.push(answer);
    }
    if (awaited.length === 0) return;
    await this.electorate.pauses.within(this.electorate.patience, Promise.all(awaited));
  }

  /**
   * Tells all members in the background, until they have confirmed or it is no use any more.
   *
   * @param lease for how long they would keep the lock for the owner, ms
   */
  seeOff(lease: number): void {
    if (this.isSeenOff) return;
    this.isSeenOff = true;
    let left = this.departures.size;
    if (left === 0) this.end();
    for (const departure of this.departures.values()) {
      this.electorate.departures.follow(departure, lease, () => {
        left -= 1;
        if (left === 0) this.end();
      });
    }
  }

  /** Tells all members once; rejects if one did not confirm. */
  async confirmed(): Promise<void> {
    const departures = [...this.departures.values()];
    const results = await Promise.allSettled(departures.map((departure) => departure.attempt()));
    const failures = results.flatMap((result) =>
      result.status === 'rejected' ? [failureOf(result.reason)] : [],
    );
    const retryable = failures.some((failure) => failure.retryable);
    // Those that refuse for good are not asked again.
    if (!retryable) this.end();
    const [cause] = failures;
    if (cause !== undefined) throw new LockStoreError(cause.message, { inDoubt: true, retryable, cause });
  }

  /** There is nothing left to do but to remember the names that a member still keeps out. */
  end(): void {
    if (this.seats.some((seat) => seat.hasTombstone)) this.electorate.pauses.after(INSISTENCE, this.onEnd);
    else this.onEnd();
  }

  /** What enough members say of the release. Whoever asks after that was told finds nothing to release (P30). */
  async outcome(): Promise<ReleaseReply> {
    if (this.isTold) return 'not-held';
    const { members, needed } = this;
    const departures = [...this.departures.values()];
    const outcome = await decided<Reply, ReleaseReply>(
      departures.map((departure) => departure.attempt()),
      ({ replies, open }) => {
        const released = replies.filter((reply) => reply === 'released').length;
        if (released >= needed) return 'released';
        // A member that never knew the owner does not have it.
        const notHeld = replies.length - released + members - departures.length;
        return notHeld > members - needed && released + open < needed ? 'not-held' : undefined;
      },
      members,
    );
    this.isTold = true;
    return outcome;
  }
}
