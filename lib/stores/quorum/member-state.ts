import type {
  AskReply,
  AskRequest,
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
import { asked } from '../port/store-failure.js';
import { ownerName } from './owner-name.js';
import type { QuorumContext } from './quorum-context.js';
import { TokenAnnouncement } from './token-announcement.js';
import { endOf, type QuorumHold, type Vote } from './vote.js';

/**
 * What is known of one owner at one member. Whenever the member has taken the owner back, the next request goes by a new
 * name, so that messages and late requests of the time before can't be taken for those of now.
 */
export class MemberState {
  vote: Vote | undefined;
  isQueued = false;
  /** Whether the member has told that others hold the lock there, and not replied yet. */
  keepsWaiting = false;
  /** ms left of the lease of whoever holds the lock there, as the member told. */
  holderLeaseLeft: number | undefined;

  /** Whether a request under the present name may still be, or may have been, carried out without our knowing. */
  private inDoubt = false;
  /** What comes of the requests under the present name that are under way. */
  private pending = new Set<Promise<AskReply | LockStoreError>>();
  /** The leases that those and the requests in doubt asked for. */
  private unansweredLeases: number[] = [];
  /** When the member brought its vote by itself. */
  private pushedAt = -Infinity;
  /** Whether nothing but a push has told of the vote: its lease can become shorter by a claim. */
  private isUnclaimed = false;
  /** How many times the member was told to take the owner back. */
  private releases: number;
  private isTombstoned: boolean;
  private readonly announcement: TokenAnnouncement;

  constructor(
    private readonly session: LockStoreSession,
    private readonly key: string,
    private readonly base: OwnerId,
    private readonly now: () => MonotonicMs,
    /** That of the same owner, which begins anew: no name is used again. */
    predecessor?: MemberState,
  ) {
    this.releases = predecessor?.releases ?? 0;
    this.isTombstoned = predecessor?.isTombstoned ?? false;
    this.announcement = new TokenAnnouncement(session, key);
  }

  /** How many requests under the present name are under way. */
  get underWay(): number {
    return this.pending.size;
  }

  /** Whether the member keeps out an earlier name of an owner that may ask again. */
  get hasTombstone(): boolean {
    return this.isTombstoned;
  }

  /** Whether the member may still have to be told that an earlier name is gone. */
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

  /** Until when the vote may be relied on. */
  get endsAt(): number {
    return this.vote === undefined ? -Infinity : endOf(this.vote);
  }

  /** Asks the member; undefined when the reply has come too late to be of interest. */
  async ask(request: AskRequest): Promise<AskReply | LockStoreError | undefined> {
    const { releases, owner } = this;
    const sentAt = this.now();
    this.unansweredLeases.push(request.lease);
    const pending = asked(() => this.session.ask({ ...request, owner })).catch(
      (error: unknown) => error as LockStoreError, // see asked()
    );
    this.pending.add(pending);
    const reply = await pending;
    if (releases !== this.releases) return undefined;
    this.pending.delete(pending);
    this.keepsWaiting = false;
    if (!(reply instanceof Error)) {
      this.leaseAnswered(request.lease);
      this.onReply(reply, sentAt, request.lease);
    } else if (reply.inDoubt) this.inDoubt = true;
    else this.leaseAnswered(request.lease);
    return reply;
  }

  /** The member brought a grant by itself. Answers whether it is for the present name. */
  onPush(owner: OwnerId, grant: PushedGrant): boolean {
    if (owner !== this.owner || (!this.isQueued && this.underWay === 0 && !this.inDoubt)) return false;
    const { tokens = 1, othersWait = false } = grant;
    // A request that is carried out later than the push sets the lease that it asks for.
    const lease = Math.min(grant.lease, ...this.unansweredLeases);
    this.onGrant({ ...grant, lease, tokens, othersWait });
    this.isUnclaimed = true;
    this.pushedAt = this.now();
    return true;
  }

  /** The member tells, before it replies, that others hold the lock there. */
  onHeldByOthers(owner: OwnerId, holderLeaseLeft: number | undefined): void {
    if (owner !== this.owner || this.underWay === 0) return;
    this.keepsWaiting = true;
    this.holderLeaseLeft = holderLeaseLeft;
  }

  /** The member has renewed the lease, or set it if that was to be exact. */
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

  /** The member has reserved tokens up to this one, for the owner of that name. */
  onReserved(owner: OwnerId, last: number): void {
    if (owner === this.owner) this.announcement.reserved(last);
  }

  /** The member says that the owner does not hold the lock there; it is released there all the same. */
  onLost(): void {
    this.vote = undefined;
    this.inDoubt = true;
  }

  /** Whether what the member has broken is what it had granted, or may be about to. */
  isBroken(owner: OwnerId): boolean {
    return owner === this.owner && this.mayHold;
  }

  /** Tells the member which token the hold has by the word of all, and that later ones have to be larger. */
  announce(hold: QuorumHold): void {
    if (this.vote === undefined) return;
    if (this.announcement.send(hold, this.owner, this.vote.token))
      this.vote = { ...this.vote, token: hold.token };
  }

  /** Takes the owner back whatever state it is in. Answers what does so, which may be called again. */
  cancel(inDoubt: boolean): () => Promise<'cancelled'> {
    const request = this.takeBack(inDoubt);
    return async () => {
      await asked(() => this.session.cancel(request));
      return 'cancelled';
    };
  }

  /**
   * Takes the owner back so that it can ask again: requests under way are waited for, so that as a rule the member need
   * not keep them out.
   */
  cancelAfterReplies({
    timers,
    memberTimeout,
  }: Pick<QuorumContext, 'timers' | 'memberTimeout'>): () => Promise<'cancelled'> {
    const { pending, key, owner } = this;
    let open = pending.size;
    let isKnown = this.isQueued || this.vote !== undefined;
    let { inDoubt } = this;
    for (const request of pending) {
      void request.then((reply) => {
        open -= 1;
        if (reply instanceof Error) inDoubt ||= reply.inDoubt;
        else isKnown ||= reply.outcome === 'granted' || reply.outcome === 'queued';
      });
    }
    this.rename();
    return async () => {
      if (open > 0) await timers.within(memberTimeout, Promise.all(pending));
      inDoubt ||= open > 0;
      if (!isKnown && !inDoubt) return 'cancelled';
      this.isTombstoned ||= inDoubt;
      await asked(() => this.session.cancel({ key, owner, inDoubt }));
      return 'cancelled';
    };
  }

  /** Gives the hold back, behind the request that tells the member its token. */
  release(inDoubt: boolean): () => Promise<ReleaseReply> {
    const announce = this.announcement.beforeRelease(this.owner);
    const request = this.takeBack(inDoubt);
    return () => {
      announce?.();
      return asked(() => this.session.release(request));
    };
  }

  private onReply(reply: AskReply, sentAt: MonotonicMs, lease: number): void {
    if (reply.outcome === 'granted') {
      const { token, since, tokens = 1, othersWait = false } = reply;
      this.onGrant({ startedAt: sentAt, lease, token, since, tokens, othersWait });
      return;
    }
    // The reply was on its way when the grant was brought.
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

  private leaseAnswered(lease: number): void {
    this.unansweredLeases.splice(this.unansweredLeases.indexOf(lease), 1);
  }

  /** What takes the present name back. The owner goes by another one from now on. */
  private takeBack(inDoubt: boolean): OwnerRequest {
    const { key, owner } = this;
    const request = { key, owner, inDoubt: inDoubt || this.inDoubt || this.underWay > 0 };
    this.rename();
    return request;
  }

  private rename(): void {
    this.releases += 1;
    this.vote = this.holderLeaseLeft = undefined;
    this.announcement.forget();
    this.isQueued = this.inDoubt = this.keepsWaiting = false;
    this.pending = new Set();
    this.unansweredLeases = [];
  }
}
