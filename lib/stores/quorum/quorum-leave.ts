import type { ReleaseReply } from '../port/lock-store.js';
import type { MemberReply } from './member-releases.js';
import type { MemberState } from './member-state.js';
import type { QuorumContext } from './quorum-context.js';
import { QuorumRelease } from './quorum-release.js';

/** How an owner leaves the members: it is cancelled or released, or it was rejected and may ask again. */
export class QuorumLeave {
  /** Whether it has left because it was rejected. */
  isRejected = false;
  private request: QuorumRelease | undefined;

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

  /** Resolves when every member that may know the owner has confirmed. */
  async cancel(inDoubt: boolean): Promise<void> {
    this.isRejected = false;
    this.request ??= this.start((member) => member.cancel(inDoubt));
    await this.request.confirmed();
  }

  /** Resolves as soon as it is decided whether the lock was still held. */
  release(inDoubt: boolean, lease: number): Promise<ReleaseReply> {
    this.isRejected = false;
    if (this.request === undefined) {
      this.request = this.start((member) => member.release(inDoubt));
      this.request.complete(lease);
    }
    return this.request.outcome();
  }

  /** Waits a little for those that have granted the lock to confirm. */
  async reject(): Promise<QuorumRelease> {
    const hadGranted = this.members.map(({ vote }) => vote !== undefined);
    const request = this.start((member) => member.cancelAfterReplies(this.context));
    this.request = request;
    this.isRejected = true;
    await request.begin((index) => hadGranted[index] === true);
    return request;
  }

  /** Tells members that have not confirmed again, in the background. */
  complete(lease: number): void {
    this.request?.complete(lease);
  }

  private start(requestFor: (member: MemberState) => () => Promise<MemberReply>): QuorumRelease {
    return new QuorumRelease(this.context, this.members, this.needed, requestFor, this.onEnd);
  }
}
