import { later } from '../../common/clock.js';
import { LockStoreError, type ReleaseReply } from '../port/lock-store.js';
import { storeFailure } from '../port/store-failure.js';
import { TOMBSTONE_TTL } from '../port/times.js';
import { decided, type QuorumContext } from './majority.js';
import type { MemberState } from './member-state.js';

type MemberReply = ReleaseReply | 'cancelled';

/** How an owner leaves the members that may know it: it is cancelled or released, or it was rejected and may ask again. */
export class QuorumRelease {
  /** Whether it has left because it was rejected. */
  isRejected = false;
  /** Set by whichever method is called first. */
  private releases: readonly MemberRelease[] | undefined;
  private isDecided = false;
  private isCompleting = false;

  /**
   * @param needed how many members have to grant the lock
   * @param onEnd called when the owner can be forgotten
   */
  constructor(
    private readonly context: QuorumContext,
    private readonly members: readonly MemberState[],
    private readonly needed: number,
    private readonly onEnd: () => void,
  ) {}

  /** Whether every member has confirmed. */
  get isConfirmed(): boolean {
    return this.releases?.every(({ isConfirmed }) => isConfirmed) ?? true;
  }

  /** Withdraws the owner at all members; rejects if one did not confirm. */
  async cancel(inDoubt: boolean): Promise<void> {
    this.isRejected = false;
    this.releases ??= this.begin((member) => member.cancel(inDoubt));
    const results = await Promise.allSettled(this.releases.map((release) => release.attempt()));
    const failures = results.flatMap((result) =>
      result.status === 'rejected' ? [storeFailure(result.reason)] : [],
    );
    const retryable = failures.some((failure) => failure.retryable);
    // A member that refuses for good is not asked again.
    if (!retryable) this.end();
    const [cause] = failures;
    if (cause !== undefined) throw new LockStoreError(cause.message, { inDoubt: true, retryable, cause });
  }

  /** Resolves when enough members have replied. A later call finds nothing to release (P30). */
  async release(inDoubt: boolean, lease: number): Promise<ReleaseReply> {
    this.isRejected = false;
    if (this.releases === undefined) {
      this.releases = this.begin((member) => member.release(inDoubt));
      this.complete(lease);
    }
    if (this.isDecided) return 'not-held';
    const requests = this.releases.map((release) => release.attempt());
    const outcome = await decideRelease(requests, this.needed, this.members.length);
    this.isDecided = true;
    return outcome;
  }

  /** Withdraws the owner at all members, and waits a little for those that have granted the lock. */
  async reject(): Promise<void> {
    const { context } = this;
    const voters = new Set(this.members.filter(({ vote }) => vote !== undefined));
    this.releases = this.begin((member) => member.cancelAfterReplies(context));
    this.isRejected = true;
    const awaited: Promise<unknown>[] = [];
    for (const release of this.releases) {
      // complete() tries it again.
      const reply = release.attempt().catch(() => undefined);
      if (voters.has(release.member)) awaited.push(reply);
    }
    if (awaited.length > 0) await context.timers.within(context.memberTimeout, Promise.all(awaited));
  }

  /**
   * Retries in the background until every member has confirmed, or that has become useless.
   *
   * @param lease for how long a member would keep the lock for the owner, ms
   */
  complete(lease: number): void {
    if (this.isCompleting || this.releases === undefined) return;
    this.isCompleting = true;
    if (this.releases.length === 0) this.end();
    else {
      void Promise.all(
        this.releases.map((release) => completed(this.context, () => release.attempt(), lease)),
      ).then(() => {
        this.end();
      });
    }
  }

  /** Forgets the owner, but not before the tombstones of its names have expired. */
  end(): void {
    if (this.members.some((member) => member.hasTombstone))
      this.context.timers.after(TOMBSTONE_TTL, this.onEnd);
    else this.onEnd();
  }

  /** @param requestFor returns the request that releases the owner at a member, which may be repeated */
  private begin(requestFor: (member: MemberState) => () => Promise<MemberReply>): readonly MemberRelease[] {
    const known = this.members.filter(({ mayBeKnown }) => mayBeKnown);
    return known.map((member) => new MemberRelease(member, requestFor(member)));
  }
}

/** The release or withdrawal of an owner at one member. */
class MemberRelease {
  private reply: MemberReply | undefined;
  private running: Promise<MemberReply> | undefined;

  /** @param request is repeated after a failure */
  constructor(
    readonly member: MemberState,
    private readonly request: () => Promise<MemberReply>,
  ) {}

  get isConfirmed(): boolean {
    return this.reply !== undefined;
  }

  attempt(): Promise<MemberReply> {
    if (this.reply !== undefined) return Promise.resolve(this.reply);
    this.running ??= this.request().then(
      (reply) => {
        this.reply = reply;
        return reply;
      },
      (error: unknown) => {
        this.running = undefined;
        throw storeFailure(error);
      },
    );
    return this.running;
  }
}

/**
 * Repeats a release or withdrawal in the background until the member has replied, or that has become useless.
 *
 * @param lease for how long the member would keep the lock for the owner, ms
 */
export async function completed(
  { retry, client }: Pick<QuorumContext, 'retry' | 'client'>,
  request: () => Promise<MemberReply>,
  lease: number,
): Promise<void> {
  const until = later(client.now(), Math.max(TOMBSTONE_TTL, lease));
  await retry.complete({
    attempt: () =>
      request().catch((error: unknown) => {
        if (storeFailure(error).retryable) throw error;
      }),
    until: () => until,
  });
}

/**
 * What enough of the members reply to a release. A member that is not asked never knew the owner, so it counts as not
 * holding the lock for it.
 */
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
