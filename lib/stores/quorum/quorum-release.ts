import { later } from '../../common/clock.js';
import { LockStoreError, type ReleaseReply } from '../port/lock-store.js';
import { storeFailure } from '../port/store-failure.js';
import { TOMBSTONE_TTL } from '../port/times.js';
import { decided, type QuorumContext } from './majority.js';
import type { MemberState } from './member-state.js';

/**
 * Releases or withdraws the owner at one member. Repeated only after a failure: concurrent attempts use the pending
 * request.
 */
type Attempt = () => Promise<ReleaseReply>;

/** How an owner leaves the members that may know it: it is withdrawn, released, or was rejected. */
export class QuorumRelease {
  /** One for each member that may know the owner; set by whichever method is called first. */
  private attempts: readonly Attempt[] | undefined;
  /** How many of them have not succeeded yet. */
  private unconfirmed = 0;
  private isDecided = false;

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
    return this.unconfirmed === 0;
  }

  /** Withdraws the owner at all members; rejects if one did not confirm. */
  async withdraw(inDoubt: boolean): Promise<ReleaseReply> {
    this.attempts ??= this.begin((member) => member.withdraw(inDoubt));
    const results = await Promise.allSettled(this.attempts.map((attempt) => attempt()));
    const failures = results.flatMap((result) =>
      result.status === 'rejected' ? [storeFailure(result.reason)] : [],
    );
    const retryable = failures.some((failure) => failure.retryable);
    // A member that rejects permanently is not asked again.
    if (!retryable) this.onEnd();
    const [cause] = failures;
    if (cause !== undefined) throw new LockStoreError(cause.message, { inDoubt: true, retryable, cause });
    return 'not-held';
  }

  /** Resolves when enough members have replied. A later call finds nothing to release. */
  async release(inDoubt: boolean, lease: number): Promise<ReleaseReply> {
    if (this.attempts === undefined) {
      this.attempts = this.begin((member) => member.release(inDoubt));
      this.complete(lease);
    }
    if (this.isDecided) return 'not-held';
    const requests = this.attempts.map((attempt) => attempt());
    const outcome = await decideRelease(requests, this.needed, this.members.length);
    this.isDecided = true;
    return outcome;
  }

  /** Withdraws the owner at all members, and waits a little for those that have granted the lock. */
  async reject(): Promise<void> {
    const { context } = this;
    const hasVote = this.known.map(({ vote }) => vote !== undefined);
    this.attempts = this.begin((member) => member.withdrawAfterReplies(context));
    // Retried by `complete()`.
    const replies = this.attempts.map((attempt) => attempt().catch(() => undefined));
    const awaited = replies.filter((_, index) => hasVote[index]);
    if (awaited.length > 0) await context.timers.within(context.memberTimeout, Promise.all(awaited));
  }

  /**
   * Retries in the background until every member has confirmed, or retrying has become useless.
   *
   * @param lease for how long a member would keep the lock for the owner, ms
   */
  complete(lease: number): void {
    if (this.attempts === undefined) return;
    void Promise.all(this.attempts.map((attempt) => completed(this.context, attempt, lease))).then(
      this.onEnd,
    );
  }

  private get known(): readonly MemberState[] {
    return this.members.filter(({ mayBeKnown }) => mayBeKnown);
  }

  /** @param requestFor returns the request that releases the owner at a member, which may be repeated */
  private begin(requestFor: (member: MemberState) => () => Promise<ReleaseReply>): readonly Attempt[] {
    const { known } = this;
    this.unconfirmed = known.length;
    return known.map((member) => {
      const request = requestFor(member);
      let running: Promise<ReleaseReply> | undefined;
      const succeeded = (reply: ReleaseReply): ReleaseReply => {
        this.unconfirmed -= 1;
        return reply;
      };
      const failed = (error: unknown): never => {
        running = undefined;
        throw storeFailure(error);
      };
      return () => (running ??= request().then(succeeded, failed));
    });
  }
}

/**
 * Repeats a release or withdrawal in the background until the member has replied, or retrying has become useless.
 *
 * @param lease for how long the member would keep the lock for the owner, ms
 */
export async function completed(
  { retry, client }: Pick<QuorumContext, 'retry' | 'client'>,
  request: () => Promise<ReleaseReply>,
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
 * The reply to a release on which enough members agree. A member that is not asked never knew the owner, so it counts
 * as not holding the lock for it.
 */
export function decideRelease(
  requests: readonly Promise<ReleaseReply>[],
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
