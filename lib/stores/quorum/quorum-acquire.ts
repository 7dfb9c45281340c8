import { PendingReply } from '../../common/pending-reply.js';
import type {
  AskReply,
  AskRequest,
  LockStoreError,
  OwnerId,
  OwnerRequest,
  PushedGrant,
  ReleaseReply,
} from '../port/lock-store.js';
import { undecided, votesNeeded } from './majority.js';
import { MemberRelease } from './member-release.js';
import { MemberState } from './member-state.js';
import type { QuorumContext } from './quorum-context.js';
import { QuorumRelease } from './quorum-release.js';
import { QuorumRequest } from './quorum-request.js';
import { SplitVoteResolver, type ContestedAcquire } from './split-vote-resolver.js';
import type { QuorumHold, Vote } from './vote.js';
import { holdBy, pushOf, queued, replyOf, timeUntilFree } from './vote-tally.js';

/** One owner at the members: it is queued at each, and holds the lock while enough of them grant it. */
export class QuorumAcquire implements ContestedAcquire {
  readonly key: string;
  readonly owner: OwnerId;
  readonly members: readonly MemberState[];
  /** How many may hold the lock at once, this owner included. */
  readonly limit: number;
  /** How many members have to grant it: a majority, or more where each grants it to several. */
  readonly needed: number;
  /** What so many have granted. */
  hold: QuorumHold | undefined;
  state: 'waiting' | 'granted' | 'ended' = 'waiting';
  latest: AskRequest;

  private current: QuorumRequest | undefined;
  private readonly splitVote: SplitVoteResolver;
  private readonly leave: QuorumRelease;

  /**
   * @param forget called when nothing has to be known of this owner any more
   * @param predecessor that of the same owner, if it is over and still known
   */
  constructor(
    private readonly context: QuorumContext,
    request: AskRequest,
    private readonly forget: (acquire: QuorumAcquire) => void,
    predecessor?: QuorumAcquire,
  ) {
    const { key, owner, limit } = request;
    const { sessions, client } = context;
    this.key = key;
    this.owner = owner;
    this.latest = request;
    this.limit = limit;
    this.needed = votesNeeded(sessions.length, limit);
    const left = predecessor?.leave.isRejected === true ? predecessor.members : [];
    this.members = sessions.map(
      (session, at) => new MemberState(session, key, owner, () => client.now(), left[at]),
    );
    predecessor?.leave.complete(predecessor.latest.lease);
    this.leave = new QuorumRelease(context, this.members, this.needed, () => {
      forget(this);
    });
    this.splitVote = new SplitVoteResolver(this, context);
  }

  get voters(): MemberState[] {
    const now = this.context.client.now();
    return this.members.filter(({ endsAt }) => endsAt > now);
  }

  /** One request of the engine. Replied to as soon as it is decided. */
  ask(request: AskRequest): PendingReply<AskReply> {
    const { client, timers, memberTimeout } = this.context;
    const reply = new PendingReply<AskReply>();
    const former = this.current;
    this.checkMajority();
    if (former !== undefined) this.close(former);
    this.latest = request;
    const current = new QuorumRequest(request, client.now(), [...(former?.replies ?? []), reply]);
    this.current = current;
    // A grant is not asked for again: that would prolong a split.
    current.begin(this.members, this.isContested);
    if (this.splitVote.isBackingOff) this.settle(current, queued(undefined));
    else {
      current.timeout = timers.after(memberTimeout, () => {
        current.timeOut();
        this.decide();
      });
      for (const member of current.open) if (!this.isContested || member.underWay === 0) this.send(member);
      this.decide();
    }
    return reply;
  }

  /** Asks a member, and what comes of it counts whenever it comes. */
  send(member: MemberState): void {
    // Its lease is over: what is left of it is given back.
    if (this.state === 'waiting' && member.vote !== undefined && !this.voters.includes(member))
      this.cancelAt(member);
    void member.ask(this.latest).then((reply) => {
      if (reply !== undefined) this.onReply(member, reply);
    });
  }

  /** A member brought a grant by itself. */
  onPush(index: number, owner: OwnerId, grant: PushedGrant): void {
    const member = this.members[index];
    if (this.state === 'ended' || member?.onPush(owner, grant) !== true) return;
    this.announceHold(member);
    this.decide();
  }

  /** A member has broken what it granted. */
  onBroken(index: number, owner: OwnerId): void {
    const member = this.members[index];
    if (this.state === 'ended' || member?.isBroken(owner) !== true) return;
    const hadVoted = member.vote !== undefined;
    this.cancelAt(member);
    // What it has replied, or is about to, is true no longer.
    if (this.state === 'waiting' && this.current?.reopen(member, hadVoted) === true) this.send(member);
    if (this.state !== 'granted' || this.voters.length >= this.needed) return;
    this.state = 'waiting';
    this.context.client.broken(this.owner);
  }

  /** Tells a member what is held, if that is decided. */
  announceHold(member: MemberState): void {
    if (this.state === 'granted' && this.hold !== undefined) member.announce(this.hold);
  }

  cancelAt(member: MemberState): void {
    if (!member.mayBeKnown) return;
    void new MemberRelease(member.cancel(false)).complete(this.context, this.latest.lease);
  }

  backOff(): void {
    for (const member of this.members) this.cancelAt(member);
    if (this.current !== undefined) this.settle(this.current, queued(undefined));
  }

  requeue(): void {
    for (const member of this.members) if (!member.mayBeKnown) this.send(member);
  }

  /** The members have said that the hold is over: those that still have it shall not keep it from others. */
  abandon(): void {
    if (this.state === 'ended') return;
    for (const member of this.members) this.cancelAt(member);
    this.stop();
    this.forget(this);
  }

  /** Resolves when every member that may know the owner has confirmed. */
  async cancel({ inDoubt }: OwnerRequest): Promise<void> {
    this.end();
    await this.leave.cancel(inDoubt);
  }

  /** Gives the hold back at all members; resolves as soon as it is decided whether it was still held. */
  release({ inDoubt }: OwnerRequest): Promise<ReleaseReply> {
    this.end();
    return this.leave.release(inDoubt, this.latest.lease);
  }

  private get isContested(): boolean {
    return this.latest.wait && this.state === 'waiting';
  }

  private onReply(member: MemberState, reply: AskReply | LockStoreError): void {
    if (this.state === 'ended') return;
    this.current?.onReply(member, reply);
    if (this.state === 'granted' && member.isQueued) this.cancelAt(member);
    this.announceHold(member);
    this.decide();
  }

  private decide(): void {
    const { current, needed, members } = this;
    const votes = this.voters.flatMap(({ vote }) => vote ?? []);
    if (current === undefined) {
      if (this.state !== 'waiting') return;
      if (votes.length >= needed) this.pushGrant(votes);
      else if (votes.length > 0) this.splitVote.start();
      return;
    }
    const fullVotes = votes.filter((vote) => current.isAnsweredBy(vote));
    if (fullVotes.length >= needed) {
      const isFirst = this.state === 'waiting';
      this.settle(current, replyOf(this.grantedBy(fullVotes), fullVotes, isFirst));
      return;
    }
    // Granted, but over before the replies were here. The engine measures from before it asked, and takes no such grant: it
    // finds out that its caller's lease is too short, where `queued` would have it ask again and again.
    const allVotes = members.flatMap(({ vote }) =>
      vote !== undefined && current.isAnsweredBy(vote) ? vote : [],
    );
    if (allVotes.length >= needed) {
      this.settle(current, replyOf(holdBy(allVotes), allVotes, true));
      return;
    }
    if (votes.length >= needed && this.isContested) {
      this.settle(current, queued(0));
      this.pushGrant(votes);
      return;
    }
    const outcome = current.outcome(members.length, needed, votes.length);
    if (outcome === 'conflict') this.reject(current, current.conflict);
    else if (outcome === 'failed') this.fail(current);
    else if (outcome === 'refused') this.refuse(current);
    // What a silent member might say is not waited for: the grants may be over by then.
    else if (current.isAnsweredByMajority(members.length) && this.isContested && votes.length > 0)
      this.splitVote.start();
  }

  /** Enough members grant the lock. */
  private grantedBy(votes: readonly Vote[]): QuorumHold {
    this.splitVote.stop();
    if (this.state === 'waiting' || this.hold === undefined) {
      this.hold = holdBy(votes);
      this.state = 'granted';
    }
    for (const member of this.members) {
      if (member.isQueued) this.cancelAt(member);
      this.announceHold(member);
    }
    return this.hold;
  }

  /** Tells the engine of votes that came together without a request. */
  private pushGrant(votes: readonly Vote[]): void {
    const grant = pushOf(this.grantedBy(votes), votes, this.needed);
    if (grant !== undefined) this.context.client.granted(this.owner, grant);
  }

  /** A majority has replied, and the lock is not granted. */
  private refuse(request: QuorumRequest): void {
    this.checkMajority();
    const holderLeaseLeft = timeUntilFree(this.members, this.needed, this.context.client.now());
    if (request.isCancelled) this.reject(request, { outcome: 'cancelled' });
    else if (!request.request.wait) this.reject(request, { outcome: 'busy', holderLeaseLeft });
    else {
      this.settle(request, queued(holderLeaseLeft));
      if (this.voters.length > 0) this.splitVote.start();
    }
  }

  /** The owner neither gets the lock nor waits for it. */
  private reject(request: QuorumRequest, reply: AskReply): void {
    void this.leaveRejected(request).then(() => {
      this.leave.complete(this.latest.lease);
      request.resolve(reply);
    });
  }

  /** Fewer than needed could be asked. */
  private fail(request: QuorumRequest): void {
    this.checkMajority();
    const silent = request.hasTimedOut ? request.open.size : 0;
    const failure = (inDoubt: boolean): LockStoreError =>
      undecided(this.members.length, request.failures, inDoubt, silent, this.needed);
    if (request.request.wait) {
      // An owner that has left a member keeps its state too: no name may be used there again.
      const inDoubt = this.members.some((member) => member.mayBeKnown || member.wasKnown);
      this.close(request);
      if (!inDoubt) this.abandon();
      request.reject(failure(inDoubt));
      return;
    }
    void this.leaveRejected(request).then(() => {
      // In doubt, the engine cancels until the rest has confirmed.
      const inDoubt = !this.leave.isConfirmed;
      if (!inDoubt) this.leave.end();
      request.reject(failure(inDoubt));
    });
  }

  private checkMajority(): void {
    if (this.state === 'granted' && this.voters.length < this.needed) this.state = 'waiting';
  }

  private leaveRejected(request: QuorumRequest): Promise<void> {
    this.close(request);
    this.stop();
    return this.leave.reject();
  }

  private settle(request: QuorumRequest, reply: AskReply): void {
    this.close(request);
    request.resolve(reply);
  }

  private close(request: QuorumRequest): void {
    if (request.timeout !== undefined) this.context.timers.clear(request.timeout);
    if (this.current === request) this.current = undefined;
  }

  private end(): void {
    this.stop();
    if (this.current !== undefined) this.settle(this.current, { outcome: 'cancelled' });
  }

  private stop(): void {
    this.state = 'ended';
    this.splitVote.stop();
  }
}
