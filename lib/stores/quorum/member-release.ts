import { later } from '../../common/clock.js';
import type { ReleaseReply } from '../port/lock-store.js';
import { storeFailure } from '../port/store-failure.js';
import { TOMBSTONE_TTL } from '../port/times.js';
import type { QuorumContext } from './quorum-context.js';

export type MemberReply = ReleaseReply | 'cancelled';

/** The release or cancellation of an owner at one member. */
export class MemberRelease {
  private reply: MemberReply | undefined;
  private running: Promise<MemberReply> | undefined;

  /** @param request may be called again after it has failed */
  constructor(private readonly request: () => Promise<MemberReply>) {}

  get isConfirmed(): boolean {
    return this.reply !== undefined;
  }

  /** What the member has replied, or replies now. */
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

  /**
   * Tells also a dead or slow member, in the background. Resolves when it has replied, or when trying again has become
   * useless.
   *
   * @param lease for how long the member would keep the lock for the owner, ms
   */
  async complete({ retry, client }: Pick<QuorumContext, 'retry' | 'client'>, lease: number): Promise<void> {
    const until = later(client.now(), Math.max(TOMBSTONE_TTL, lease));
    await retry.complete({
      attempt: () =>
        this.attempt().catch((error: unknown) => {
          if (storeFailure(error).retryable) throw error;
        }),
      until: () => until,
    });
  }
}
