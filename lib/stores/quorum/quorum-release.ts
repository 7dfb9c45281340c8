import { LockStoreError, type ReleaseReply } from '../port/lock-store.js';
import { storeFailure } from '../port/store-failure.js';
import { decided } from './majority.js';
import { MemberRelease, TOMBSTONE_TIME, type MemberReply } from './member-releases.js';
import type { MemberState } from './member-state.js';
import type { QuorumContext } from './quorum-context.js';

/** The release or cancellation of an owner at all members that may know it. */
export class QuorumRelease {
  private readonly releases = new Map<number, MemberRelease>();
  private readonly total: number;
  private isDecided = false;
  private isCompleting = false;

  /**
   * @param needed how many members had to grant the lock
   * @param requestFor what releases the owner at a member, and may be called again
   * @param onEnd called when there is nothing left to do
   */
  constructor(
    private readonly context: QuorumContext,
    private readonly members: readonly MemberState[],
    private readonly needed: number,
    requestFor: (member: MemberState) => () => Promise<MemberReply>,
    private readonly onEnd: () => void,
  ) {
    this.total = members.length;
    for (const [index, member] of members.entries()) {
      if (member.mayBeKnown) this.releases.set(index, new MemberRelease(requestFor(member)));
    }
  }

  /** Whether every member has confirmed. */
  get isConfirmed(): boolean {
    return [...this.releases.values()].every(({ isConfirmed }) => isConfirmed);
  }

  /** Tells all members, and waits a little for some. */
  async begin(isAwaited: (index: number) => boolean): Promise<void> {
    const awaited: Promise<unknown>[] = [];
    for (const [index, release] of this.releases) {
      // It is tried again.
      const reply = release.attempt().catch(() => undefined);
      if (isAwaited(index)) awaited.push(reply);
    }
    if (awaited.length === 0) return;
    await this.context.timers.within(this.context.memberTimeout, Promise.all(awaited));
  }

  /**
   * Tells all members in the background, until they have confirmed or trying again has become useless.
   *
   * @param lease for how long they would keep the lock for the owner, ms
   */
  complete(lease: number): void {
    if (this.isCompleting) return;
    this.isCompleting = true;
    const { memberReleases } = this.context;
    const each = [...this.releases.values()].map((release) => memberReleases.complete(release, lease));
    if (each.length === 0) this.end();
    else {
      void Promise.all(each).then(() => {
        this.end();
      });
    }
  }

  /** Tells all members once; rejects if one did not confirm. */
  async confirmed(): Promise<void> {
    const results = await Promise.allSettled([...this.releases.values()].map((release) => release.attempt()));
    const failures = results.flatMap((result) =>
      result.status === 'rejected' ? [storeFailure(result.reason)] : [],
    );
    const retryable = failures.some((failure) => failure.retryable);
    // Those that refuse for good are not asked again.
    if (!retryable) this.end();
    const [cause] = failures;
    if (cause !== undefined) throw new LockStoreError(cause.message, { inDoubt: true, retryable, cause });
  }

  /** There is nothing left to do but to remember the names that a member still keeps out. */
  end(): void {
    if (this.members.some((member) => member.hasTombstone))
      this.context.timers.after(TOMBSTONE_TIME, this.onEnd);
    else this.onEnd();
  }

  /** What enough members say of the release. Whoever asks after that was told finds nothing to release (P30). */
  async outcome(): Promise<ReleaseReply> {
    if (this.isDecided) return 'not-held';
    const { total, needed } = this;
    const releases = [...this.releases.values()];
    const outcome = await decided<MemberReply, ReleaseReply>(
      releases.map((release) => release.attempt()),
      ({ replies, open }) => {
        const released = replies.filter((reply) => reply === 'released').length;
        if (released >= needed) return 'released';
        // A member that never knew the owner does not hold the lock for it.
        const notHeld = replies.length - released + total - releases.length;
        return notHeld > total - needed && released + open < needed ? 'not-held' : undefined;
      },
      total,
    );
    this.isDecided = true;
    return outcome;
  }
}
