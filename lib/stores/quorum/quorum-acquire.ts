import { PendingReply } from '../../common/pending-reply.js';
import type { LockStoreError, AskReply, AskRequest, OwnerId, OwnerRequest } from '../port/lock-store.js';
import type { PushedGrant, ReleaseReply } from '../port/lock-store.js';
import { holdBy, pushOf, queued, replyOf, timeUntilFree } from './vote-tally.js';
import { SplitVoteResolver } from './split-vote-resolver.js';
import { Departure } from './member-releases.js';
import type { QuorumContext } from './quorum-context.js';
import { QuorumRelease, type Way } from './quorum-release.js';
import { undecided, votesNeeded } from './majority.js';
import { Round } from './round.js';
import { MemberState, type QuorumHold, type Vote } from './member-state.js';

/** One owner's way through the members: it stands in line at each, and has the lock while enough of them grant it. */
export class QuorumAcquire {
  readonly key: string;
  readonly owner: OwnerId;
  readonly seats: readonly MemberState[];
  /** How many may hold the lock at once, this owner included. */
  readonly limit: number;
  /** How many members have to grant it: a majority, or more where each grants it to several. */
  readonly needed: number;
  /** What so many have granted. */
  hold: QuorumHold | undefined;
  state: 'waiting' | 'granted' | 'ended' = 'waiting';

  private round: Round | undefined;
  private latest: AskRequest;
  private readonly splitVote: SplitVoteResolver;
  private leaving: QuorumRelease | undefined;
  /** Whether it has left the members without being told to, and may come again. */
  private isWithdrawn = false;

  /** @param former that of the same owner, if it is over and known still */
  constructor(
    private readonly electorate: QuorumContext,
    request: AskRequest,
    former?: QuorumAcquire,
  ) {
    const { key, owner, limit } = request;
    const { members, client } = electorate;
    this.key = key;
    this.owner = owner;
    this.latest = request;
    this.limit = limit;
    this.needed = votesNeeded(members.length, limit);
    const left = former?.isWithdrawn === true ? former.seats : [];
    this.seats = members.map(
      (member, at) => new MemberState(member, key, owner, () => client.now(), left[at]),
    );
    former?.insist();
    this.splitVote = new SplitVoteResolver(this, electorate);
  }

  /** Members whose grants are surely good now. */
  get voters(): MemberState[] {
    const now = this.electorate.client.now();
    return this.seats.filter(({ endsAt }) => endsAt > now);
  }

  get claimLease(): number {
    return this.latest.claimLease;
  }

  /** One question of the engine. Answered as soon as it is decided. */
  ask(request: AskRequest): PendingReply<AskReply> {
    const { client, pauses, patience } = this.electorate;
    const answer = new PendingReply<AskReply>();
    const former = this.round;
    this.lose();
    pauses.clear(former?.limit);
    this.latest = request;
    const round = new Round(request, client.now(), [...(former?.answers ?? []), answer]);
    this.round = round;
    for (const seat of this.seats) {
      // A grant is not asked for again: that would prolong a split.
      if (this.isContested && seat.endsAt > round.sentAt) round.answered += 1;
      else round.open.add(seat);
    }
    if (this.splitVote.isStandingBack) this.settle(round, queued(undefined));
    else {
      round.limit = pauses.after(patience, () => {
        round.end();
        this.decide();
      });
      for (const seat of round.open) if (!this.isContested || seat.underWay === 0) this.send(seat);
      this.decide();
    }
    return answer;
  }

  /** Asks a member, and what comes of it counts whenever it comes. */
  send(seat: MemberState): void {
    // Its lease is over: what is left of it is given back.
    if (this.state === 'waiting' && seat.vote !== undefined && !this.voters.includes(seat))
      this.dismiss(seat);
    void seat.ask(this.latest).then((reply) => {
      if (reply !== undefined) this.heard(seat, reply);
    });
  }

  /** A member brought a grant by itself. */
  pushed(index: number, owner: OwnerId, grant: PushedGrant): void {
    const seat = this.seats[index];
    if (this.state === 'ended' || seat?.push(owner, grant) !== true) return;
    this.joined(seat);
    this.decide();
  }

  /** A member has broken what it granted. */
  broken(index: number, owner: OwnerId): void {
    const seat = this.seats[index];
    if (this.state === 'ended' || seat?.isBroken(owner) !== true) return;
    const hadVoted = seat.vote !== undefined;
    this.dismiss(seat);
    // What it has answered, or is about to, is true no longer.
    if (this.state === 'waiting' && this.round?.reopen(seat, hadVoted) === true) this.send(seat);
    if (this.state !== 'granted' || this.voters.length >= this.needed) return;
    this.state = 'waiting';
    this.electorate.client.broken(this.owner);
  }

  /** A member that was not known to have granted the lock turns out to have done so. */
  joined(seat: MemberState): void {
    if (this.state === 'granted' && this.hold !== undefined) seat.tell(this.hold);
  }

  /** Takes the owner back from one member. */
  dismiss(seat: MemberState): void {
    if (!seat.mayBeKnown) return;
    this.electorate.departures.follow(new Departure(seat.leave(false)), this.latest.lease, () => undefined);
  }

  /** Takes the owner back from all members, until it queues again. */
  backOff(): void {
    for (const seat of this.seats) this.dismiss(seat);
    if (this.round !== undefined) this.settle(this.round, queued(undefined));
  }

  /** Queues where the owner has no place. */
  standAgain(): void {
    for (const seat of this.seats) if (!seat.mayBeKnown) this.send(seat);
  }

  /** The members have said that the hold is over: those that still have it shall not keep it from others. */
  resign(): void {
    if (this.state === 'ended') return;
    for (const seat of this.seats) this.dismiss(seat);
    this.discard();
  }

  /** Resolves when every member that may know the owner has confirmed. */
  async cancel({ inDoubt }: OwnerRequest): Promise<void> {
    this.end();
    this.leaving ??= this.leave((seat) => seat.leave(inDoubt));
    await this.leaving.confirmed();
  }

  /** Gives the hold back on all members; resolves as soon as it is decided whether it was still held. */
  release({ inDoubt }: OwnerRequest): Promise<ReleaseReply> {
    this.end();
    if (this.leaving === undefined) {
      this.leaving = this.leave((seat) => seat.release(inDoubt));
      this.insist();
    }
    return this.leaving.outcome();
  }

  private get isContested(): boolean {
    return this.latest.wait && this.state === 'waiting';
  }

  private heard(seat: MemberState, answer: AskReply | LockStoreError): void {
    if (this.state === 'ended') return;
    this.round?.heard(seat, answer);
    if (this.state === 'granted' && seat.isQueued) this.dismiss(seat);
    this.joined(seat);
    this.decide();
  }

  private decide(): void {
    const { round, needed, seats } = this;
    const votes = this.voters.flatMap(({ vote }) => vote ?? []);
    if (round === undefined) {
      if (this.state !== 'waiting') return;
      if (votes.length >= needed) this.bring(votes);
      else if (votes.length > 0) this.splitVote.start();
      return;
    }
    const sure = votes.filter((vote) => round.isAnsweredBy(vote));
    if (sure.length >= needed) {
      const isFirst = this.state === 'waiting';
      this.settle(round, replyOf(this.win(sure), sure, isFirst));
      return;
    }
    if (votes.length >= needed && this.isContested) {
      this.settle(round, queued(0));
      this.bring(votes);
      return;
    }
    const verdict = round.verdict(seats.length, needed, votes.length);
    if (verdict === 'conflict') this.reject(round, round.conflict);
    else if (verdict === 'failed') this.fail(round);
    else if (verdict === 'refused') this.refuse(round);
    // What a silent member might say is not waited for: the grants may be over by then.
    else if (round.isAsked(seats.length) && this.isContested && votes.length > 0) this.splitVote.start();
  }

  /** Enough members grant the lock. */
  private win(votes: readonly Vote[]): QuorumHold {
    this.splitVote.stop();
    if (this.state === 'waiting' || this.hold === undefined) {
      this.hold = holdBy(votes);
      this.state = 'granted';
    }
    for (const seat of this.seats) {
      if (seat.isQueued) this.dismiss(seat);
      this.joined(seat);
    }
    return this.hold;
  }

  /** Tells the engine of votes that came together without a question. */
  private bring(votes: readonly Vote[]): void {
    const grant = pushOf(this.win(votes), votes, this.needed);
    if (grant !== undefined) this.electorate.client.granted(this.owner, grant);
  }

  /** A majority has answered, and the lock is not granted. */
  private refuse(round: Round): void {
    this.lose();
    const holderLeaseLeft = timeUntilFree(this.seats, this.needed, this.electorate.client.now());
    if (round.isCancelled) this.reject(round, { outcome: 'cancelled' });
    else if (!round.request.wait) this.reject(round, { outcome: 'busy', holderLeaseLeft });
    else {
      this.settle(round, queued(holderLeaseLeft));
      if (this.voters.length > 0) this.splitVote.start();
    }
  }

  /** The owner neither gets the lock nor waits for it. */
  private reject(round: Round, reply: AskReply): void {
    void this.withdraw(round).then(() => {
      this.insist();
      round.resolve(reply);
    });
  }

  /** Fewer than needed could be asked. */
  private fail(round: Round): void {
    this.lose();
    const { length } = this.seats;
    const silent = round.isOver ? round.open.size : 0;
    if (round.request.wait) {
      // Nor is an owner that has left a member asked for anew, as if it had never been there.
      const inDoubt = this.seats.some((seat) => seat.mayBeKnown || seat.wasKnown);
      if (!inDoubt) this.discard();
      this.close(round);
      round.reject(undecided(length, round.failures, inDoubt, silent, this.needed));
      return;
    }
    void this.withdraw(round).then((release) => {
      // In doubt, the engine cancels until the rest has confirmed.
      const inDoubt = !release.isOver;
      if (!inDoubt) release.end();
      round.reject(undecided(length, round.failures, inDoubt, silent, this.needed));
    });
  }

  /** Tells members that have not confirmed the end again, in the background. */
  private insist(): void {
    this.leaving?.seeOff(this.latest.lease);
  }

  private lose(): void {
    if (this.state === 'granted' && this.voters.length < this.needed) this.state = 'waiting';
  }

  /** Leaves all members for good, and waits a little for those that have granted the lock to confirm. */
  private async withdraw(round: Round): Promise<QuorumRelease> {
    this.close(round);
    this.stop();
    const hadGranted = this.seats.map(({ vote }) => vote !== undefined);
    const release = this.leave((seat) => seat.withdraw(this.electorate));
    this.leaving = release;
    this.isWithdrawn = true;
    await release.begin((index) => hadGranted[index] === true);
    return release;
  }

  private leave(way: Way): QuorumRelease {
    return new QuorumRelease(this.electorate, this.seats, this.needed, way, () => {
      this.electorate.forget(this);
    });
  }

  private settle(round: Round, reply: AskReply): void {
    this.close(round);
    round.resolve(reply);
  }

  private close(round: Round): void {
    this.electorate.pauses.clear(round.limit);
    if (this.round === round) this.round = undefined;
  }

  private end(): void {
    this.stop();
    this.isWithdrawn = false;
    if (this.round !== undefined) this.settle(this.round, { outcome: 'cancelled' });
  }

  private discard(): void {
    this.stop();
    this.electorate.forget(this);
  }

  private stop(): void {
    this.state = 'ended';
    this.splitVote.stop();
  }
}
