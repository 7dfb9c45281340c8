import type {
  AcquireReply,
  AcquireRequest,
  LockStoreError,
  LockStoreSession,
  MonotonicMs,
  OwnerId,
  OwnerRequest,
  PushedGrant,
  ReleaseReply,
  RenewRequest,
  WallClockMs,
} from '../port/lock-store.js';
import { asked, tried } from '../port/store-failure.js';
import type { QuorumContext } from './majority.js';
import { endOf, ownerName, type QuorumHold, type Vote } from './votes.js';

/**
 * One owner at one member. After each withdrawal the next request uses a new name, so that earlier messages and late
 * requests can't be mistaken for current ones.
 */
export class MemberState {
  vote: Vote | undefined;
  isQueued = false;
  /** Whether the member has reported that another owner holds the lock, and has not replied yet. */
  keepsWaiting = false;
  /** ms left of the holder's lease, as the member reported it. */
  holderLeaseLeft: number | undefined;

  /** Whether a request under the current name may have been, or may still be, carried out unnoticed. */
  private inDoubt = false;
  /** Pending requests under the current name. */
  private pending = new Set<Promise<AcquireReply | LockStoreError>>();
  /** The leases of requests that are pending or in doubt. */
  private unansweredLeases: number[] = [];
  /** When the member pushed its vote. */
  private pushedAt = -Infinity;
  /** Whether the vote was only pushed, so that a claim may shorten its lease. */
  private isUnclaimed = false;
  /** How many times the owner was withdrawn. */
  private releases = 0;
  private readonly announcement: TokenAnnouncement;

  constructor(
    private readonly session: LockStoreSession,
    private readonly key: string,
    private readonly base: OwnerId,
    private readonly now: () => MonotonicMs,
  ) {
    this.announcement = new TokenAnnouncement(session, key);
  }

  /** The number of pending requests under the current name. */
  get underWay(): number {
    return this.pending.size;
  }

  /** Whether an earlier name was used at the member. */
  get wasKnown(): boolean {
    return this.releases > 0;
  }

  /** The name of the owner at this member. */
  get owner(): OwnerId {
    return ownerName(this.base, this.releases);
  }

  /** Whether the owner may hold the lock at the member. */
  get mayHold(): boolean {
    return this.vote !== undefined || this.underWay > 0 || this.inDoubt;
  }

  /** Whether the member may know the owner. */
  get mayBeKnown(): boolean {
    return this.isQueued || this.mayHold;
  }

  /** Until when the vote can be relied on. */
  get endsAt(): number {
    return this.vote === undefined ? -Infinity : endOf(this.vote);
  }

  /**
   * Requests the lock from the member; undefined if the owner was withdrawn before the reply.
   *
   * @param beforeReply called before the reply counts
   */
  async acquire(
    request: AcquireRequest,
    beforeReply: () => void,
  ): Promise<AcquireReply | LockStoreError | undefined> {
    const { releases, owner } = this;
    const sentAt = this.now();
    this.unansweredLeases.push(request.lease);
    const pending = tried(() => this.session.acquire({ ...request, owner }));
    this.pending.add(pending);
    const reply = await pending;
    if (releases !== this.releases) return undefined;
    this.pending.delete(pending);
    this.keepsWaiting = false;
    if (reply instanceof Error && reply.inDoubt) {
      this.inDoubt = true;
      return reply;
    }
    this.unansweredLeases.splice(this.unansweredLeases.indexOf(request.lease), 1);
    if (reply instanceof Error) return reply;
    beforeReply();
    this.onReply(reply, sentAt, request.lease);
    return reply;
  }

  /** The member pushed a grant. Returns whether it is for the current name. */
  onPush(owner: OwnerId, grant: PushedGrant): boolean {
    if (owner !== this.owner || (!this.isQueued && this.underWay === 0 && !this.inDoubt)) return false;
    const { tokens = 1, othersWait = false } = grant;
    // A request carried out after the push sets its own lease.
    const lease = Math.min(grant.lease, ...this.unansweredLeases);
    this.onGrant({ ...grant, lease, tokens, othersWait });
    this.isUnclaimed = true;
    this.pushedAt = this.now();
    return true;
  }

  /** The member reports, before it replies, that another owner holds the lock. */
  onHeldByOthers(owner: OwnerId, holderLeaseLeft: number | undefined): void {
    if (owner !== this.owner || this.underWay === 0) return;
    this.keepsWaiting = true;
    this.holderLeaseLeft = holderLeaseLeft;
  }

  /** The member has renewed the lease, or set it if the request was exact. */
  onRenewed(
    startedAt: MonotonicMs,
    { lease, exactly = false }: Pick<RenewRequest, 'lease' | 'exactly'>,
    hold: QuorumHold | undefined,
  ): void {
    const before = this.vote;
    if (before === undefined && hold === undefined) return;
    const facts = before ?? { token: 0, since: 0 as WallClockMs, tokens: 1, othersWait: false };
    const vote = { ...facts, startedAt, lease };
    const isNew = before === undefined || this.isUnclaimed || exactly;
    if (isNew || endOf(vote) > endOf(before)) this.vote = vote;
    this.isUnclaimed = false;
  }

  /** The member has reserved tokens up to this one, for the owner with this name. */
  onReserved(owner: OwnerId, last: number): void {
    if (owner === this.owner) this.announcement.reserved(last);
  }

  /** The member reports that the owner does not hold the lock; the release is sent nevertheless. */
  onLost(): void {
    this.vote = undefined;
    this.inDoubt = true;
  }

  /** Whether the member may have broken this owner's hold. */
  isBroken(owner: OwnerId): boolean {
    return owner === this.owner && this.mayHold;
  }

  /** Informs the member of the token on which the members agreed, and that later ones must be larger. */
  announce(hold: QuorumHold): void {
    if (this.vote === undefined) return;
    if (this.announcement.send(hold, this.owner, this.vote.token))
      this.vote = { ...this.vote, token: hold.token };
  }

  /** Withdraws the owner, whatever its state. Returns the request, which may be repeated. */
  withdraw(inDoubt: boolean): () => Promise<ReleaseReply> {
    const request = this.removal(false, inDoubt);
    return async () => {
      await asked(() => this.session.release(request));
      return 'not-held';
    };
  }

  /** Withdraws the owner after pending requests: the member then usually needs no tombstone for them. */
  withdrawAfterReplies({
    timers,
    memberTimeout,
  }: Pick<QuorumContext, 'timers' | 'memberTimeout'>): () => Promise<ReleaseReply> {
    let withdraw: (() => Promise<ReleaseReply>) | undefined;
    return async () => {
      if (this.underWay > 0) await timers.within(memberTimeout, Promise.all(this.pending));
      if (withdraw === undefined && !this.mayBeKnown) return 'not-held';
      withdraw ??= this.withdraw(false);
      return await withdraw();
    };
  }

  /** Releases the hold, after the request that announces its token. Returns the request, which may be repeated. */
  release(inDoubt: boolean): () => Promise<ReleaseReply> {
    const announce = this.announcement.beforeRelease(this.owner);
    const request = this.removal(true, inDoubt);
    return () => {
      announce?.();
      return asked(() => this.session.release(request));
    };
  }

  private onReply(reply: AcquireReply, sentAt: MonotonicMs, lease: number): void {
    if (reply.outcome === 'granted') {
      const { token, since, tokens = 1, othersWait = false } = reply;
      this.onGrant({ startedAt: sentAt, lease, token, since, tokens, othersWait });
      return;
    }
    // The grant was pushed while this reply was in flight.
    if (this.vote !== undefined && this.pushedAt >= sentAt) return;
    this.vote = undefined;
    if (reply.outcome === 'queued') this.isQueued = true;
    if (reply.outcome === 'conflict') this.isQueued = false;
    if (reply.outcome === 'queued' || reply.outcome === 'busy') this.holderLeaseLeft = reply.holderLeaseLeft;
  }

  private onGrant(vote: Vote): void {
    this.isQueued = false;
    this.isUnclaimed = false;
    this.announcement.reserved(vote.token + vote.tokens - 1);
    this.vote = vote;
  }

  /** Forgets what the member has replied. Returns the request that removes the owner there. */
  private removal(wasGranted: boolean, inDoubt: boolean): OwnerRequest {
    const { key, owner } = this;
    const isInDoubt = inDoubt || this.inDoubt || this.underWay > 0;
    const request = { key, owner, wasGranted, inDoubt: isInDoubt };
    this.releases += 1;
    this.vote = this.holderLeaseLeft = undefined;
    this.announcement.forget();
    this.isQueued = this.inDoubt = this.keepsWaiting = false;
    this.pending = new Set();
    this.unansweredLeases = [];
    return request;
  }
}

/** Informs one member of the token on which the members agreed for a hold, and that later tokens must be larger. */
class TokenAnnouncement {
  /** The hold that the member has not confirmed yet. */
  private unconfirmed: QuorumHold | undefined;
  /** The token that the member has granted that hold; 0 until its reply has arrived, as after a renewal that overtook it. */
  private granted = 0;
  private request: Promise<void> | undefined;
  /** The member is known to grant only tokens larger than this. */
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
   * Informs the member, unless it knows or the request is pending. Returns whether the request is sent now.
   *
   * @param token of the hold at the member
   */
  send(hold: QuorumHold, owner: OwnerId, token: number): boolean {
    if (this.session.raise === undefined || (this.floor >= hold.floor && token === hold.token)) return false;
    const isKnownNow = this.granted === 0 && token !== hold.token;
    if (this.request !== undefined && this.unconfirmed === hold && !isKnownNow) return false;
    if (this.unconfirmed === undefined || isKnownNow) this.granted = token;
    this.unconfirmed = hold;
    const request = this.raise(hold, owner, this.granted).then(
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

  /** The request to send before each attempt to release the hold: the member carries them out in order. */
  beforeRelease(owner: OwnerId): (() => void) | undefined {
    const { unconfirmed, granted } = this;
    if (unconfirmed === undefined) return undefined;
    let isUnderWay = this.request !== undefined;
    return () => {
      // The release does not wait for it: a member that does not reply must not delay the next holder.
      if (!isUnderWay) this.raise(unconfirmed, owner, granted).catch(() => undefined);
      isUnderWay = false;
    };
  }

  /** The owner has left the member. */
  forget(): void {
    this.unconfirmed = undefined;
  }

  private async raise(hold: QuorumHold, owner: OwnerId, granted: number): Promise<void> {
    await asked(async () => this.session.raise?.({ key: this.key, owner, granted, ...hold }));
  }
}
