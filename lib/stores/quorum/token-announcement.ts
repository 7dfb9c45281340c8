import type { LockStoreSession, OwnerId } from '../port/lock-store.js';
import { asked } from '../port/store-failure.js';
import type { QuorumHold } from './vote.js';

/** Tells one member the token that a hold has by the word of all members, and that later tokens have to be larger. */
export class TokenAnnouncement {
  /** What the member has not confirmed yet. */
  private unconfirmed: QuorumHold | undefined;
  private request: Promise<void> | undefined;
  /** The member is known to grant only tokens that are larger than this. */
  private floor = 0;

  constructor(
    private readonly session: LockStoreSession,
    private readonly key: string,
  ) {}

  /** The member has granted or reserved tokens up to this one. */
  reserved(last: number): void {
    this.floor = Math.max(this.floor, last);
  }

  /**
   * Tells the member, unless it knows or is being told.
   *
   * @param token by which the hold goes at the member
   * @returns whether it is told now
   */
  send(hold: QuorumHold, owner: OwnerId, token: number): boolean {
    if (this.session.raise === undefined || (this.floor >= hold.floor && token === hold.token)) return false;
    if (this.request !== undefined && this.unconfirmed === hold) return false;
    this.unconfirmed = hold;
    const request = this.raise(hold, owner).then(
      () => {
        this.reserved(hold.floor);
        if (this.unconfirmed === hold) this.unconfirmed = undefined;
        if (this.request === request) this.request = undefined;
      },
      () => {
        // Sent again before the release.
        if (this.request === request) this.request = undefined;
      },
    );
    this.request = request;
    return true;
  }

  /** What has to come before each attempt to release the hold: the member carries out one after the other. */
  beforeRelease(owner: OwnerId): (() => void) | undefined {
    const { unconfirmed } = this;
    if (unconfirmed === undefined) return undefined;
    let isUnderWay = this.request !== undefined;
    return () => {
      // Nobody shall wait for the lock because a member can't be told.
      if (!isUnderWay) this.raise(unconfirmed, owner).catch(() => undefined);
      isUnderWay = false;
    };
  }

  /** The owner has left the member. */
  forget(): void {
    this.unconfirmed = undefined;
  }

  private async raise(hold: QuorumHold, owner: OwnerId): Promise<void> {
    await asked(async () => this.session.raise?.({ key: this.key, owner, ...hold }));
  }
}
