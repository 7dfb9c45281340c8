import type {
  AskReply,
  AskRequest,
  LockStoreError,
  LockStoreSession,
  MonotonicMs,
  OwnerId,
  PushedGrant,
  ReleaseReply,
  RenewRequest,
  WallClockMs,
} from '../port/lock-store.js';
import type { QuorumContext } from './quorum-context.js';
import { asked } from './majority.js';

/** What one member has granted. */
export interface Vote {
  readonly startedAt: MonotonicMs;
  readonly lease: number;
  readonly token: number;
  readonly tokens: number;
  readonly since: WallClockMs;
  readonly othersWait: boolean;
}

/** What a majority has granted, and what every member is to know of it. */
export interface QuorumHold {
  readonly token: number;
  readonly since: WallClockMs;
  /** The last of the tokens that this hold, and those that follow it in the process, may use. */
  readonly floor: number;
}

/** Left for clocks of different speed. */
const DRIFT = 0.01;

/**
 * What is known of one owner at one member. Whenever the member has taken the owner back, the next request goes by a new
 * name, `<owner>.<attempt>`: messages and late requests of the time before can't be taken for those of now.
 */
export class MemberState {
  vote: Vote | undefined;
  isQueued = false;
  /** Whether the member has told that others hold the lock there, and not answered yet. */
  keepsWaiting = false;
  /** ms left of the lease of whoever holds the lock there, as the member told. */
  holderLeaseLeft: number | undefined;

  /** Whether a request under the present name may still be, or may have been, carried out without our knowing. */
  private inDoubt = false;
  /** What comes of the requests under the present name that are under way. */
  private pending = new Set<Promise<AskReply | LockStoreError>>();
  /** The leases that those and the requests in doubt asked for. */
  private unanswered: number[] = [];
  /** When the member brought its vote by itself. */
  private pushedAt = -Infinity;
  /** Whether nothing but a push has told of the vote: its lease can become shorter by a claim. */
  private isUnclaimed = false;
  private attempt: number;
  private isShut: boolean;
  /** Tokens that the member grants from now on are larger than this. */
  private counter = 0;
  private told: QuorumHold | undefined;
  private telling: Promise<void> | undefined;

  constructor(
    private readonly member: LockStoreSession,
    private readonly key: string,
    private readonly base: OwnerId,
    private readonly now: () => MonotonicMs,
    /** That of the same owner, which begins anew: no name is used again. */
    former?: MemberState,
  ) {
    this.attempt = former?.attempt ?? 0;
    this.isShut = former?.isShut ?? false;
  }

  /** How many requests under the present name are under way. */
  get underWay(): number {
    return this.pending.size;
  }

  /** Whether the member keeps out an earlier name of an owner that may ask again. */
  get hasTombstone(): boolean {
    return this.isShut;
  }

  /** Whether the member may have to be told still that an earlier name is gone. */
  get wasKnown(): boolean {
    return this.attempt > 0;
  }

  /** The name of the owner at this member. */
  get owner(): OwnerId {
    return (this.attempt === 0 ? this.base : `${this.base}.${String(this.attempt)}`) as OwnerId;
  }

  /** Whether the member may have the owner in its lock. */
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

  /** Asks the member; undefined when the answer has come too late to be of interest. */
  async ask(request: AskRequest): Promise<AskReply | LockStoreError | undefined> {
    const { attempt, owner } = this;
    const sentAt = this.now();
    this.unanswered.push(request.lease);
    const pending = asked(() => this.member.ask({ ...request, owner })).catch(
      (error: unknown) => error as LockStoreError, // see asked()
    );
    this.pending.add(pending);
    const answer = await pending;
    if (attempt !== this.attempt) return undefined;
    this.pending.delete(pending);
    this.keepsWaiting = false;
    if (!(answer instanceof Error)) {
      this.isAnswered(request.lease);
      this.replied(answer, sentAt, request.lease);
    } else if (answer.inDoubt) this.inDoubt = true;
    else this.isAnswered(request.lease);
    return answer;
  }

  /** The member brought a grant by itself. Answers whether it is one of now. */
  push(owner: OwnerId, grant: PushedGrant): boolean {
    if (owner !== this.owner || (!this.isQueued && this.underWay === 0 && !this.inDoubt)) return false;
    const { tokens = 1, othersWait = false } = grant;
    // A request that is carried out later than the push sets the lease that it asks for.
    const lease = Math.min(grant.lease, ...this.unanswered);
    this.granted({ ...grant, lease, tokens, othersWait });
    this.isUnclaimed = true;
    this.pushedAt = this.now();
    return true;
  }

  /** The member tells that others hold the lock there, while it sees to a request. */
  heldByOthers(owner: OwnerId, holderLeaseLeft: number | undefined): void {
    if (owner !== this.owner || this.underWay === 0) return;
    this.keepsWaiting = true;
    this.holderLeaseLeft = holderLeaseLeft;
  }

  /** The member has renewed the lease, or set it if that was to be exact. */
  renewed(
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

  /** The member has reserved tokens. */
  reserved(last: number): void {
    this.counter = Math.max(this.counter, last);
  }

  /** The member says that it does not have the owner in its lock; it is told of the end all the same. */
  lost(): void {
    this.vote = undefined;
    this.inDoubt = true;
  }

  /** Whether what the member has broken is what it had granted, or may be about to. */
  isBroken(owner: OwnerId): boolean {
    return owner === this.owner && this.mayHold;
  }

  /** Tells the member which token the hold has by the word of all, and that later ones have to be larger. */
  tell(hold: QuorumHold): void {
    if (this.vote === undefined || this.member.raise === undefined) return;
    if (this.counter >= hold.floor && this.vote.token === hold.token) return;
    if (this.telling !== undefined && this.told === hold) return;
    this.vote = { ...this.vote, token: hold.token };
    this.told = hold;
    const telling = this.raise(hold).then(
      () => {
        this.counter = Math.max(this.counter, hold.floor);
        if (this.told === hold) this.told = undefined;
        if (this.telling === telling) this.telling = undefined;
      },
      () => {
        // Told again before the release.
        if (this.telling === telling) this.telling = undefined;
      },
    );
    this.telling = telling;
  }

  /** Takes the owner back whatever state it is in. Answers what does so, as often as it takes. */
  leave(inDoubt: boolean): () => Promise<'cancelled'> {
    const request = this.farewell(inDoubt);
    return async () => {
      await asked(() => this.member.cancel(request));
      return 'cancelled';
    };
  }

  /**
   * Takes the owner back so that it can ask again: requests under way are waited for, so that as a rule the member need
   * not keep them out.
   */
  withdraw({ pauses, patience }: Pick<QuorumContext, 'pauses' | 'patience'>): () => Promise<'cancelled'> {
    const { pending } = this;
    let open = pending.size;
    let isKnown = this.isQueued || this.vote !== undefined;
    let { inDoubt } = this;
    for (const answer of pending) {
      void answer.then((reply) => {
        open -= 1;
        if (reply instanceof Error) inDoubt ||= reply.inDoubt;
        else isKnown ||= reply.outcome === 'granted' || reply.outcome === 'queued';
      });
    }
    const { key, owner } = this;
    this.rename();
    return async () => {
      if (open > 0) await pauses.within(patience, Promise.all(pending));
      inDoubt ||= open > 0;
      if (!isKnown && !inDoubt) return 'cancelled';
      this.isShut ||= inDoubt;
      await asked(() => this.member.cancel({ key, owner, inDoubt }));
      return 'cancelled';
    };
  }

  /** Gives the hold back; not before the member knows of its token. */
  release(inDoubt: boolean): () => Promise<ReleaseReply> {
    const { telling, told } = this;
    const request = this.farewell(inDoubt);
    const release = (): Promise<ReleaseReply> => asked(() => this.member.release(request));
    if (told === undefined) return release;
    let confirmed = telling?.then(() => undefined);
    return async () => {
      // Nobody shall wait for the lock because a member can't be told.
      await (confirmed ?? this.raise(told, request.owner).catch(() => undefined));
      confirmed = undefined;
      return await release();
    };
  }

  private replied(reply: AskReply, sentAt: MonotonicMs, lease: number): void {
    if (reply.outcome === 'granted') {
      const { token, since, tokens = 1, othersWait = false } = reply;
      this.granted({ startedAt: sentAt, lease, token, since, tokens, othersWait });
      return;
    }
    // The answer was on its way when the grant was brought.
    if (this.vote !== undefined && this.pushedAt >= sentAt) return;
    this.vote = undefined;
    if (reply.outcome === 'queued') this.isQueued = true;
    if (reply.outcome === 'conflict') this.isQueued = false;
    if (reply.outcome === 'queued' || reply.outcome === 'busy') this.holderLeaseLeft = reply.holderLeaseLeft;
  }

  private granted(vote: Vote): void {
    this.isQueued = false;
    this.isUnclaimed = false;
    this.counter = Math.max(this.counter, vote.token + vote.tokens - 1);
    this.vote = vote;
  }

  private isAnswered(lease: number): void {
    this.unanswered.splice(this.unanswered.indexOf(lease), 1);
  }

  private async raise(hold: QuorumHold, owner = this.owner): Promise<void> {
    await asked(async () => this.member.raise?.({ key: this.key, owner, ...hold }));
  }

  private farewell(inDoubt: boolean): { key: string; owner: OwnerId; inDoubt: boolean } {
    const request = {
      key: this.key,
      owner: this.owner,
      inDoubt: inDoubt || this.inDoubt || this.underWay > 0,
    };
    this.rename();
    return request;
  }

  private rename(): void {
    this.attempt += 1;
    this.vote = this.holderLeaseLeft = this.told = undefined;
    this.isQueued = this.inDoubt = this.keepsWaiting = false;
    this.pending = new Set();
    this.unanswered = [];
  }
}

/** Until when a vote may be relied on. */
export function endOf({ startedAt, lease }: Vote): number {
  return startedAt + lease * (1 - DRIFT);
}

/** The owner to which a name at a member belongs. */
export function baseOf(owner: string): OwnerId {
  return owner.replace(/\.\d+$/, '') as OwnerId;
}
