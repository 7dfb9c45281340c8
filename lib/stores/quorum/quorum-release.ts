import { LockStoreError, type ReleaseReply } from '../port/lock-store.js';
import { storeFailure } from '../port/store-failure.js';
import { TOMBSTONE_TTL } from '../port/times.js';
import { decided } from './majority.js';
import { MemberRelease, type MemberReply } from './member-release.js';
import type { MemberState } from './member-state.js';
import type { QuorumContext } from './quorum-context.js';

/** How an owner leaves the members that may know it: it is cancelled or released, or it was rejected and may ask again. */
export class QuorumRelease {
  /** Whether it has left because it was rejected. */
  isRejected = false;
  /** What was begun first counts. */
  private releases: ReadonlyMap<MemberState, MemberRelease> | undefined;
  private isDecided = false;
  private isCompleting = false;

  /**
   * @param needed how many members had to grant the lock
   * @param onEnd called when nothing has to be known of the owner any more
   */
  constructor(
    private readonly context: QuorumContext,
    private readonly members: readonly MemberState[],
    private readonly needed: number,
    private readonly onEnd: () => void,
  ) {}

  /** Whether every member has confirmed. */
  get isConfirmed(): boolean {
    return this.each.every(({ isConfirmed }) => isConfirmed);
  }

  /** Tells all members once; rejects if one did not confirm. */
  async cancel(inDoubt: boolean): Promise<void> {
    this.isRejected = false;
    this.releases ??= this.begin((member) => member.cancel(inDoubt));
    const results = await Promise.allSettled(this.each.map((release) => release.attempt()));
    const failures = results.flatMap((result) =>
      result.status === 'rejected' ? [storeFailure(result.reason)] : [],
    );
    const retryable = failures.some((failure) => failure.retryable);
    // Those that refuse for good are not asked again.
    if (!retryable) this.end();
    const [cause] = failures;
    if (cause !== undefined) throw new LockStoreError(cause.message, { inDoubt: true, retryable, cause });
  }

  /** What enough members say of the release. Whoever asks after that was told finds nothing to release (P30). */
  async release(inDoubt: boolean, lease: number): Promise<ReleaseReply> {
    this.isRejected = false;
    if (this.releases === undefined) {
      this.releases = this.begin((member) => member.release(inDoubt));
      this.complete(lease);
    }
    if (this.isDecided) return 'not-held';
    const { each, needed, members } = this;
    const requests = each.map((release) => release.attempt());
    const outcome = await decideRelease(requests, needed, members.length);
    this.isDecided = true;
    return outcome;
  }

  /** Tells all members, and waits a little for those that have granted the lock. */
  async reject(): Promise<void> {
    const { context } = this;
    const voters = new Set(this.members.filter(({ vote }) => vote !== undefined));
    const awaited: Promise<unknown>[] = [];
    this.releases = this.begin((member) => member.cancelAfterReplies(context));
    this.isRejected = true;
    for (const [member, release] of this.releases) {
      // It is tried again.
      const reply = release.attempt().catch(() => undefined);
      if (voters.has(member)) awaited.push(reply);
    }
    if (awaited.length > 0) await context.timers.within(context.memberTimeout, Promise.all(awaited));
  }

  /**
   * Tells members that have not confirmed again, in the background, until they have or that has become useless.
   *
   * @param lease for how long they would keep the lock for the owner, ms
   */
  complete(lease: number): void {
    if (this.isCompleting || this.releases === undefined) return;
    this.isCompleting = true;
    const { each, context } = this;
    if (each.length === 0) this.end();
    else {
      void Promise.all(each.map((release) => release.complete(context, lease))).then(() => {
        this.end();
      });
    }
  }

  /** There is nothing left to do but to remember the names that a member still keeps out. */
  end(): void {
    if (this.members.some((member) => member.hasTombstone))
      this.context.timers.after(TOMBSTONE_TTL, this.onEnd);
    else this.onEnd();
  }

  private get each(): readonly MemberRelease[] {
    return [...(this.releases?.values() ?? [])];
  }

  /** @param requestFor what releases the owner at a member, and may be called again */
  private begin(
    requestFor: (member: MemberState) => () => Promise<MemberReply>,
  ): ReadonlyMap<MemberState, MemberRelease> {
    const known = this.members.filter(({ mayBeKnown }) => mayBeKnown);
    return new Map(known.map((member) => [member, new MemberRelease(requestFor(member))]));
  }
}

/** What enough of the members say of a release. One that is not asked never knew the owner: it does not hold the lock for it. */
export function decideRelease(
  requests: readonly Promise<MemberReply>[],
  needed: number,
  members: number,
): Promise<ReleaseReply> {
  return decided(
    requests,
    ({ replies, open }) => {
      const released = replies.filter((reply) => reply === 'released').length;
      if (released >= needed) return 'released';
      const notHeld = replies.length - released + members - requests.length;
      return notHeld > members - needed && released + open < needed ? 'not-held' : undefined;
    },
    members,
  );
}
