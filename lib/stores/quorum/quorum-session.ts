import {
  LockStoreError,
  type AskReply,
  type AskRequest,
  type BreakReply,
  type ListedKeys,
  type ListKeysRequest,
  type LockBoard,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
  type NamedHold,
  type OwnerId,
  type OwnerRequest,
  type ReleaseReply,
  type RenewRequest,
  type ReserveReply,
  type ReserveRequest,
  type StoreConnection,
  type StoredLock,
} from '../port/lock-store.js';
import { allSent, isNamed, verified, type RenewReplies } from '../port/forwarding-session.js';
import { SessionTimers } from '../port/times.js';
import { asked, storeFailure } from '../port/store-failure.js';
import { QuorumAcquire } from './quorum-acquire.js';
import type { QuorumContext } from './quorum-context.js';
import { quorumBoard } from './quorum-board.js';
import { breakByMembers, locksIn, votesFor, type MemberAnswer } from './quorum-break.js';
import { decided, isOutOfReach, majorityOf, undecided } from './majority.js';
import { memberClient } from './member-client.js';
import { listByMembers } from './quorum-listing.js';
import { decideRelease } from './quorum-release.js';
import { renewByMajority, reserveByMajority } from './quorum-renewal.js';
import { isOpen, isSettled, lockOf, tokensAreKnown } from './stored-holds.js';

/** How long a member may take before it counts as missing, ms; less where leases are short. */
const MAX_MEMBER_TIMEOUT = 250;
/** How long to wait for members whose replies can change nothing, but complete the picture, ms. */
const EXTRA_TIME = 10;
/** How often to look again, as long after, while members are being told the token of a hold. */
const MAX_SECOND_LOOKS = 3;

/** One client's sessions with all members, which it sees through the port only. */
export class QuorumSession implements LockStoreSession {
  readonly board?: LockBoard;
  readonly reserve?: (request: ReserveRequest) => Promise<ReserveReply>;
  readonly listKeys?: (request: ListKeysRequest) => Promise<ListedKeys>;

  private readonly sessions: readonly LockStoreSession[];
  private readonly majority: number;
  private readonly acquires = new Map<OwnerId, QuorumAcquire>();
  private readonly timers: SessionTimers;
  private readonly context: QuorumContext;
  /** Members that have not been there yet, by index. */
  private readonly missing: Set<number>;

  constructor(
    private readonly members: readonly LockStore[],
    client: LockStoreClient,
  ) {
    this.majority = majorityOf(members.length);
    this.missing = new Set(members.keys());
    const acquireOf = (owner: OwnerId): QuorumAcquire | undefined => this.acquires.get(owner);
    this.sessions = members.map((member, index) =>
      member.open(
        memberClient(client, member.name, index, acquireOf, () => {
          this.missing.delete(index);
        }),
      ),
    );
    this.timers = new SessionTimers(client, true);
    const boards = this.sessions.flatMap(({ board }) => board ?? []);
    if (boards.length === members.length) this.board = quorumBoard(boards);
    const { timers, retry } = this.timers;
    this.context = {
      sessions: this.sessions,
      client,
      timers,
      retry,
      memberTimeout: Math.min(MAX_MEMBER_TIMEOUT, client.watchdogTimeout / 12),
    };
    if (this.sessions.every((session) => session.listKeys !== undefined)) {
      this.listKeys = (request) => listByMembers(this.sessions, this.majority, request);
    }
    if (this.sessions.every((session) => session.reserve !== undefined)) {
      this.reserve = (request) => reserveByMajority(this.context, this.find(request), request);
    }
  }

  get description(): string | undefined {
    return this.missing.size === 0 ? undefined : `${String(this.missing.size)} of them missing`;
  }

  async start(): Promise<void> {
    const missing: string[] = [];
    const failures: LockStoreError[] = [];
    const starts = this.sessions.map(async (session, index) => {
      try {
        await asked(() => session.start());
        this.missing.delete(index);
      } catch (error) {
        const failure = storeFailure(error);
        failures.push(failure);
        missing.push(`${this.members[index]?.name ?? ''} (${failure.message})`);
        throw failure;
      }
    });
    const all = Promise.allSettled(starts);
    try {
      await decided(starts, ({ replies }) => (replies.length >= this.majority ? true : undefined));
    } catch {
      throw new LockStoreError(
        `${String(this.members.length - this.missing.size)} of ${String(this.members.length)} servers are connected, ` +
          `and ${String(this.majority)} are needed; missing are ${missing.join(', ')}`,
        {
          inDoubt: false,
          retryable: failures.some(({ retryable }) => retryable),
          unreachable: isOutOfReach(this.members.length, failures),
          remedy: failures[0]?.remedy,
        },
      );
    }
    // The others are about to be there, as a rule.
    await this.context.timers.within(MAX_MEMBER_TIMEOUT, all);
  }

  ask(request: AskRequest): PromiseLike<AskReply> {
    let acquire = this.find(request);
    if (acquire === undefined || acquire.state === 'ended') {
      acquire = new QuorumAcquire(this.context, request, this.forget, acquire);
      this.acquires.set(request.owner, acquire);
    }
    return acquire.ask(request);
  }

  async cancel(request: OwnerRequest): Promise<void> {
    const acquire = this.find(request);
    if (acquire !== undefined) {
      await acquire.cancel(request);
      return;
    }
    // No member is known to know the owner: enough have to keep it out.
    await decided(
      this.sessions.map((session) => asked(() => session.cancel(request))),
      ({ replies }) => (replies.length >= this.majority ? true : undefined),
    );
  }

  release(request: OwnerRequest): Promise<ReleaseReply> {
    const acquire = this.find(request);
    if (acquire !== undefined) return acquire.release(request);
    const requests = this.sessions.map((session) => asked(() => session.release(request)));
    return decideRelease(requests, this.majority, this.members.length);
  }

  connections(): readonly StoreConnection[] {
    return this.sessions.flatMap((session) => session.connections?.() ?? []);
  }

  whenSent(key: string): Promise<unknown> | undefined {
    return allSent(this.sessions.map((session) => session.whenSent?.(key)));
  }

  renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return renewByMajority(this.context, (request) => this.find(request), requests);
  }

  async inspect(key: string): Promise<StoredLock | null> {
    const { lock } = await this.look(key);
    return lock;
  }

  /** Which members are fit for locks: enough of them for a majority have to be. */
  async verify(): Promise<void> {
    await decided(
      this.sessions.map((session) => asked(() => verified(session))),
      ({ replies }) => (replies.length >= this.majority ? true : undefined),
    );
  }

  async forceRelease(key: string): Promise<boolean> {
    const count = (replies: readonly boolean[]): number => replies.filter((wasHeld) => wasHeld).length;
    const { length } = this.members;
    const replies = await this.repliesOf(
      (session) => session.forceRelease(key),
      (some) => !isSettled(count(some), this.majority, length - some.length),
    );
    const broken = count(replies);
    // Those that can't be asked may have held it, too.
    return broken > 0 && broken + length - replies.length >= this.majority;
  }

  /** Members know a hold by an owner of their own, which no other hold has: none of them breaks a later one. */
  async breakHold(key: string, hold: NamedHold): Promise<BreakReply> {
    for (;;) {
      const { lock, found } = await this.look(key);
      if (lock === null) return 'free';
      const named = lock.holders.find((holder) => isNamed(holder, hold));
      if (named === undefined) return 'held-by-others';
      const votes = votesFor(named.owner, found);
      const unknown = this.members.length - found.length;
      const { limit } = lock;
      if (await breakByMembers(this.context, key, votes, { limit, unknown })) return 'broken';
    }
  }

  async close(): Promise<void> {
    // What was given back a moment ago is still on its way to those that were not waited for.
    await this.context.timers.within(this.context.memberTimeout, this.timers.retry.idle());
    this.timers.close();
    this.acquires.clear();
    await Promise.all(this.sessions.map((session) => asked(() => session.close())));
  }

  /** What the members that answered say of a lock, and what they make of it together. */
  private async look(key: string): Promise<{ lock: StoredLock | null; found: readonly MemberAnswer[] }> {
    const { length } = this.members;
    for (let look = 1; ; look++) {
      const found = await this.repliesOf(
        async (session): Promise<MemberAnswer> => ({ session, lock: await session.inspect(key) }),
        (answers) => isOpen(locksIn(answers), length),
      );
      const locks = locksIn(found);
      const lock = lockOf(locks, length);
      const isKnown = lock === null || tokensAreKnown(locks, lock, length);
      if (isKnown || look > MAX_SECOND_LOOKS) return { lock, found };
      await this.context.timers.within(EXTRA_TIME, new Promise<never>(() => undefined));
    }
  }

  private find({ key, owner }: Pick<OwnerRequest, 'key' | 'owner'>): QuorumAcquire | undefined {
    const acquire = this.acquires.get(owner);
    return acquire?.key === key ? acquire : undefined;
  }

  /** Nothing has to be known of that owner any more. */
  private readonly forget = (acquire: QuorumAcquire): void => {
    if (this.acquires.get(acquire.owner) === acquire) this.acquires.delete(acquire.owner);
  };

  /**
   * What the members reply, without those that take too long.
   *
   * @param mayChange whether the replies that are missing can change the result
   */
  private async repliesOf<T>(
    request: (session: LockStoreSession) => Promise<T>,
    mayChange: (replies: readonly T[]) => boolean,
  ): Promise<readonly T[]> {
    const replies: T[] = [];
    const failures: LockStoreError[] = [];
    const requests = this.sessions.map(async (session) => {
      try {
        replies.push(await request(session));
      } catch (error) {
        failures.push(storeFailure(error));
      }
    });
    await decided(requests, ({ open }) => (open === 0 || replies.length >= this.majority ? true : undefined));
    const { length } = this.members;
    const limit = mayChange(replies) ? MAX_MEMBER_TIMEOUT : EXTRA_TIME;
    await this.context.timers.within(limit, Promise.all(requests));
    if (replies.length < this.majority) throw undecided(length, failures, true);
    return [...replies];
  }
}
