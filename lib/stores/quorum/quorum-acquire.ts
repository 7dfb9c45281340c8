import { Deferred } from '../../common/deferred.js';
import type { Timer } from '../../common/timer-queue.js';
import type {
  AcquireReply,
  AcquireRequest,
  LockStoreError,
  MonotonicMs,
  OwnerId,
  OwnerRequest,
  PushedGrant,
  ReleaseReply,
} from '../port/lock-store.js';
import { majorityOf, undecided, votesNeeded, type QuorumContext } from './majority.js';
import { MemberState } from './member-state.js';
import { completed, QuorumRelease } from './quorum-release.js';
import { SplitVoteResolver } from './split-vote-resolver.js';
import { holdBy, pushOf, queued, replyOf, timeUntilFree, type QuorumHold, type Vote } from './votes.js';

/** One owner at the members: it is queued at each, and holds the lock while enough of them grant it. */
export class QuorumAcquire {
  readonly key: string;
  readonly owner: OwnerId;
  readonly members: readonly MemberState[];
  /** How many can hold the lock at once, including this owner. */
  readonly limit: number;
  /** How many members have to grant it. */
  readonly needed: number;
  /** The hold that enough members have granted. */
  hold: QuorumHold | undefined;
  state: 'waiting' | 'granted' | 'ended' = 'waiting';
  /** The last request of the engine. */
  latest: AcquireRequest;

  private current: QuorumRequest | undefined;
  private readonly splitVote: SplitVoteResolver;
  private readonly leave: QuorumRelease;

  /** @param forget called when this owner can be forgotten */
  constructor(
    private readonly context: QuorumContext,
    request: AcquireRequest,
    private readonly forget: (acquire: QuorumAcquire) => void,
  ) {
    const { key, owner, limit } = request;
    const { sessions, client } = context;
    this.key = key;
    this.owner = owner;
    this.latest = request;
    this.limit = limit;
    this.needed = votesNeeded(sessions.length, limit);
    this.members = sessions.map((session) => new MemberState(session, key, owner, () => client.now()));
    this.leave = new QuorumRelease(context, this.members, this.needed, () => forget(this));
    this.splitVote = new SplitVoteResolver(this, context);
  }

  /** Members whose grants can be relied on now. */
  get voters(): MemberState[] {
    const now = this.context.client.now();
    return this.members.filter(({ endsAt }) => endsAt > now);
  }

  /** One request of the engine. Replies as soon as it is decided. */
  acquire(request: AcquireRequest): Deferred<AcquireReply> {
    const { client, timers, memberTimeout } = this.context;
    const reply = new Deferred<AcquireReply>();
    const former = this.current;
    this.checkMajority();
    if (former !== undefined) this.close(former);
    this.latest = request;
    const current = new QuorumRequest(request, client.now(), [...(former?.replies ?? []), reply]);
    this.current = current;
    // A member that has granted the lock is not asked again: that would prolong a split vote.
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

  /** Sends the request to a member; its reply counts whenever it arrives. */
  send(member: MemberState, lease = this.latest.lease): void {
    // Its lease has expired: releases what is left of it.
    if (this.state === 'waiting' && member.vote !== undefined && !this.voters.includes(member))
      this.cancelAt(member);
    const checkMajority = (): void => this.checkMajority();
    void member.acquire({ ...this.latest, lease }, checkMajority).then((reply) => {
      if (reply !== undefined) this.onReply(member, reply);
    });
  }

  /** A member pushed a grant. */
  onPush(index: number, owner: OwnerId, grant: PushedGrant): void {
    const member = this.members[index];
    this.checkMajority();
    if (this.state === 'ended' || member?.onPush(owner, grant) !== true) return;
    this.announceHold(member);
    this.decide();
  }

  /** A member reports, before it replies, that another owner holds the lock. */
  onHeldByOthers(index: number, name: OwnerId, holderLeaseLeft: number | undefined): void {
    const { members, needed, context } = this;
    members[index]?.onHeldByOthers(name, holderLeaseLeft);
    const keeping = members.filter(({ keepsWaiting, isQueued }) => keepsWaiting || isQueued);
    // Too few members are left that could grant it.
    if (keeping.length > members.length - needed) {
      context.client.heldByOthers(this.owner, timeUntilFree(members, needed, context.client.now()));
    }
  }

  /** A member has broken its grant. */
  onBroken(index: number, owner: OwnerId): void {
    const member = this.members[index];
    if (this.state === 'ended' || member?.isBroken(owner) !== true) return;
    const hadVoted = member.vote !== undefined;
    this.cancelAt(member);
    // Its reply, present or future, is no longer true.
    if (this.state === 'waiting' && this.current?.reopen(member, hadVoted) === true) this.send(member);
    if (this.state !== 'granted' || this.voters.length >= this.needed) return;
    this.state = 'waiting';
    this.context.client.broken(this.owner);
  }

  /** Informs a member of the token of the hold, if that is decided. */
  announceHold(member: MemberState): void {
    if (this.state === 'granted' && this.hold !== undefined) member.announce(this.hold);
  }

  /** The hold, and those that follow it in this process, may use tokens up to this one. */
  onReserved(last: number): void {
    if (this.hold === undefined) return;
    this.hold = { ...this.hold, floor: last };
    for (const member of this.members) this.announceHold(member);
  }

  /** Withdraws the owner from one member, in the background. */
  cancelAt(member: MemberState): void {
    if (member.mayBeKnown) void completed(this.context, member.withdraw(false), this.latest.lease);
  }

  /** Withdraws the owner from all members, until `requeue`. */
  backOff(): void {
    for (const member of this.members) this.cancelAt(member);
    if (this.current !== undefined) this.settle(this.current, queued(undefined));
  }

  requeue(): void {
    for (const member of this.members) if (!member.mayBeKnown) this.send(member);
  }

  /** Too few members still have the hold: those that do must not keep the lock from other owners. */
  abandon(): void {
    if (this.state === 'ended') return;
    for (const member of this.members) this.cancelAt(member);
    this.stop();
    this.forget(this);
  }

  /**
   * Removes the owner from all members. The release of a hold resolves as soon as it is decided whether it was still held; any
   * other when every member that may know the owner has confirmed.
   */
  release({ wasGranted, inDoubt }: OwnerRequest): Promise<ReleaseReply> {
    this.end();
    return wasGranted ? this.leave.release(inDoubt, this.latest.lease) : this.leave.withdraw(inDoubt);
  }

  private get isContested(): boolean {
    return this.latest.wait && this.state === 'waiting';
  }

  private onReply(member: MemberState, reply: AcquireReply | LockStoreError): void {
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
    // Granted, but expired before all replies arrived. The engine measures from before the request and rejects the
    // grant because its lease is too short; after `queued` it would request again and again.
    const allVotes = members.flatMap(({ vote }) =>
      vote !== undefined && current.isAnsweredBy(vote) ? vote : [],
    );
    if (allVotes.length >= needed) {
      this.settle(current, replyOf(holdBy(allVotes), allVotes, true));
      return;
    }
    if (votes.length >= needed && this.isContested) {
      this.pushGrant(votes);
      this.settle(current, queued(0));
      return;
    }
    const outcome = current.outcome(members.length, needed, new Set([...votes, ...allVotes]).size);
    if (outcome === 'conflict') this.reject(current, current.conflict);
    else if (outcome === 'failed') this.fail(current);
    else if (outcome === 'refused') this.refuse(current);
    // Not delayed by a member that does not reply: the grants may expire meanwhile.
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

  /** Enough votes accumulated without a request. */
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
      if (this.voters.length > 0) this.splitVote.start();
      this.settle(request, queued(holderLeaseLeft));
    }
  }

  /** The owner neither acquires the lock nor waits for it. */
  private reject(request: QuorumRequest, reply: AcquireReply): void {
    void this.leaveRejected(request).then(() => {
      this.leave.complete(this.latest.lease);
      request.resolve(reply);
    });
  }

  /** Too few members replied. */
  private fail(request: QuorumRequest): void {
    this.checkMajority();
    const silent = request.hasTimedOut ? request.open.size : 0;
    const failure = (inDoubt: boolean): LockStoreError =>
      undecided(this.members.length, request.failures, inDoubt, silent, this.needed);
    if (request.request.wait) {
      // Names must not be reused, so the state of an owner that has left a member is kept as well.
      const inDoubt = this.members.some((member) => member.mayBeKnown || member.wasKnown);
      this.close(request);
      if (!inDoubt) this.abandon();
      request.reject(failure(inDoubt));
      return;
    }
    void this.leaveRejected(request).then(() => {
      // If in doubt, the engine cancels until the other members have confirmed.
      const inDoubt = !this.leave.isConfirmed;
      if (!inDoubt) this.forget(this);
      request.reject(failure(inDoubt));
    });
  }

  /** Before a grant counts: once too few are left, others may have held the lock, so that a new hold begins. */
  private checkMajority(): void {
    if (this.state === 'granted' && this.voters.length < this.needed) this.state = 'waiting';
  }

  private leaveRejected(request: QuorumRequest): Promise<void> {
    this.close(request);
    this.stop();
    return this.leave.reject();
  }

  /** The engine may withdraw the owner while it is told: nothing may follow for this owner. */
  private settle(request: QuorumRequest, reply: AcquireReply): void {
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

/** One request of the engine, and the replies of the members. */
class QuorumRequest {
  /** Members whose replies are awaited. */
  readonly open = new Set<MemberState>();
  readonly failures: LockStoreError[] = [];
  /** How many members have replied. */
  answered = 0;
  /** The limits reported with `conflict`. */
  readonly conflicts: number[] = [];
  /** Whether a member has a tombstone of the owner. */
  isCancelled = false;
  /** Whether members that have not replied by now count as missing. */
  hasTimedOut = false;
  timeout: Timer | undefined;

  constructor(
    readonly request: AcquireRequest,
    readonly sentAt: MonotonicMs,
    readonly replies: readonly Deferred<AcquireReply>[],
  ) {}

  /** @param keepsVotes whether members whose grants can be relied on are not asked */
  begin(members: readonly MemberState[], keepsVotes: boolean): void {
    for (const member of members) {
      if (keepsVotes && member.endsAt > this.sentAt) this.answered += 1;
      else this.open.add(member);
    }
  }

  onReply(member: MemberState, reply: AcquireReply | LockStoreError): void {
    if (!this.open.delete(member)) return;
    if (reply instanceof Error) {
      this.failures.push(reply);
      return;
    }
    this.answered += 1;
    this.isCancelled ||= reply.outcome === 'cancelled';
    if (reply.outcome === 'conflict') this.conflicts.push(reply.limit);
  }

  /** Returns whether the member has to be asked once more, because it has not failed. */
  reopen(member: MemberState, hasReplied: boolean): boolean {
    if (hasReplied && !this.open.has(member)) {
      this.open.add(member);
      this.answered -= 1;
    }
    return this.open.has(member);
  }

  /** Members that have not replied count as missing, except those known to keep the owner waiting. */
  timeOut(): void {
    this.hasTimedOut = true;
    for (const member of this.open) {
      if (member.keepsWaiting) this.onReply(member, queued(member.holderLeaseLeft));
    }
  }

  /** Whether a vote lasts as long as requested, unlike one pushed with a claim lease meanwhile. */
  isAnsweredBy({ startedAt, lease }: Vote): boolean {
    return startedAt >= this.sentAt && lease >= this.request.lease;
  }

  isAnsweredByMajority(members: number): boolean {
    return this.answered >= majorityOf(members);
  }

  /** The outcome, once no further reply can change it; undefined until then. */
  outcome(members: number, needed: number, votes: number): 'conflict' | 'refused' | 'failed' | undefined {
    const open = this.hasTimedOut ? 0 : this.open.size;
    const missing = members - open - this.answered;
    const isAnswered = this.isAnsweredByMajority(members);
    if (this.conflicts.length > members - needed) return 'conflict';
    // Missing members could not change it.
    if (isAnswered && votes + open + missing < needed) return 'refused';
    // Open members may still report that the lock is held, whatever the missing ones would reply.
    const mayBeHeld = members - missing >= majorityOf(members) && open > 0 && votes + missing < needed;
    if (missing > members - needed && !mayBeHeld) return 'failed';
    return isAnswered && (open === 0 || votes + open < needed) ? 'refused' : undefined;
  }

  get conflict(): AcquireReply {
    return { outcome: 'conflict', limit: this.conflicts[0] ?? 1 };
  }

  resolve(reply: AcquireReply): void {
    for (const pending of this.replies) pending.resolve(reply);
  }

  reject(error: LockStoreError): void {
    for (const pending of this.replies) pending.reject(error);
  }
}
