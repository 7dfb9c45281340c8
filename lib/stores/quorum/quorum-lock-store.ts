import { allSent, hideMissing, verified, type RenewReplies } from '../port/forwarding-session.js';
import {
  LockStoreError,
  type AcquireReply,
  type AcquireRequest,
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
import { asked, storeFailure } from '../port/store-failure.js';
import { SessionTimers } from '../port/times.js';
import { confirmedByMajority, isOutOfReach, majorityOf, type QuorumContext } from './majority.js';
import { QuorumAcquire } from './quorum-acquire.js';
import { listByMembers, QuorumInspection, quorumBoard } from './quorum-inspection.js';
import { decideRelease } from './quorum-release.js';
import { renewByMajority, reserveByMajority } from './quorum-renewal.js';
import { baseOf } from './votes.js';

/** How long a member may take before it counts as missing, ms; less where leases are short. */
const MAX_MEMBER_TIMEOUT = 250;

/** Locks on several independent stores: a lock is held while a majority of them grants it (P42). */
export class QuorumLockStore implements LockStore {
  readonly name: string;

  constructor(private readonly members: readonly LockStore[]) {
    const names = members.map(({ name }) => name).join(', ');
    this.name = `a quorum of ${String(members.length)} server${members.length === 1 ? '' : 's'} (${names})`;
  }

  get place(): string | undefined {
    return this.members[0]?.place;
  }

  open(client: LockStoreClient): LockStoreSession {
    return new QuorumSession(this.members, client);
  }
}

/** One client's sessions with all members, which it uses through the port only. */
class QuorumSession implements LockStoreSession {
  readonly board: LockBoard | undefined;

  private readonly sessions: readonly LockStoreSession[];
  private readonly acquires = new Map<OwnerId, QuorumAcquire>();
  private readonly timers: SessionTimers;
  private readonly context: QuorumContext;
  private readonly inspection: QuorumInspection;
  /** Indexes of the members that have not been connected yet. */
  private readonly missing: Set<number>;

  constructor(
    private readonly members: readonly LockStore[],
    client: LockStoreClient,
  ) {
    this.missing = new Set(members.keys());
    this.sessions = members.map((member, index) =>
      member.open(this.memberClient(client, member.name, index)),
    );
    this.timers = new SessionTimers(client, true);
    const { timers, retry } = this.timers;
    const memberTimeout = Math.min(MAX_MEMBER_TIMEOUT, client.watchdogTimeout / 12);
    this.context = { sessions: this.sessions, client, timers, retry, memberTimeout };
    this.inspection = new QuorumInspection(this.context);
    const boards = this.sessions.flatMap(({ board }) => board ?? []);
    this.board = boards.length === members.length ? quorumBoard(boards) : undefined;
    hideMissing(this, this.sessions, ['reserve', 'listKeys']);
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
    const { length } = this.members;
    try {
      await confirmedByMajority(starts);
    } catch {
      throw new LockStoreError(
        `${String(length - this.missing.size)} of ${String(length)} servers are connected, ` +
          `and ${String(majorityOf(length))} are needed; missing are ${missing.join(', ')}`,
        {
          inDoubt: false,
          retryable: failures.some(({ retryable }) => retryable),
          unreachable: isOutOfReach(length, failures),
          remedy: failures[0]?.remedy,
        },
      );
    }
    // The other members usually follow at once.
    await this.context.timers.within(MAX_MEMBER_TIMEOUT, all);
  }

  acquire(request: AcquireRequest): PromiseLike<AcquireReply> {
    let acquire = this.find(request);
    if (acquire === undefined || acquire.state === 'ended') {
      acquire = new QuorumAcquire(this.context, request, this.forget, acquire);
      this.acquires.set(request.owner, acquire);
    }
    return acquire.acquire(request);
  }

  async cancel(request: OwnerRequest): Promise<void> {
    const acquire = this.find(request);
    if (acquire !== undefined) await acquire.cancel(request);
    // Any member may know the owner: a majority has to keep it out.
    else await confirmedByMajority(this.sessions.map((session) => asked(() => session.cancel(request))));
  }

  release(request: OwnerRequest): Promise<ReleaseReply> {
    const acquire = this.find(request);
    if (acquire !== undefined) return acquire.release(request);
    const requests = this.sessions.map((session) => asked(() => session.release(request)));
    return decideRelease(requests, majorityOf(this.members.length), this.members.length);
  }

  whenSent(key: string): Promise<unknown> | undefined {
    return allSent(this.sessions.map((session) => session.whenSent?.(key)));
  }

  renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return renewByMajority(this.context, (request) => this.find(request), requests);
  }

  reserve(request: ReserveRequest): Promise<ReserveReply> {
    return reserveByMajority(this.context, this.find(request), request);
  }

  inspect(key: string): Promise<StoredLock | null> {
    return this.inspection.inspect(key);
  }

  forceRelease(key: string): Promise<boolean> {
    return this.inspection.forceRelease(key);
  }

  breakHold(key: string, hold: NamedHold): Promise<BreakReply> {
    return this.inspection.breakHold(key, hold);
  }

  listKeys(request: ListKeysRequest): Promise<ListedKeys> {
    return listByMembers(this.sessions, request);
  }

  /** Enough members for a majority have to be fit for locks. */
  async verify(): Promise<void> {
    await confirmedByMajority(this.sessions.map((session) => asked(() => verified(session))));
  }

  connections(): readonly StoreConnection[] {
    return this.sessions.flatMap((session) => session.connections?.() ?? []);
  }

  async close(): Promise<void> {
    // Recent releases are still on their way to members that were not waited for.
    await this.context.timers.within(this.context.memberTimeout, this.timers.retry.idle());
    this.timers.close();
    this.acquires.clear();
    await Promise.all(this.sessions.map((session) => asked(() => session.close())));
  }

  private find({ key, owner }: Pick<OwnerRequest, 'key' | 'owner'>): QuorumAcquire | undefined {
    const acquire = this.acquires.get(owner);
    return acquire?.key === key ? acquire : undefined;
  }

  private readonly forget = (acquire: QuorumAcquire): void => {
    if (this.acquires.get(acquire.owner) === acquire) this.acquires.delete(acquire.owner);
  };

  /** The client as one member sees it: it translates names at that member to owners. */
  private memberClient(client: LockStoreClient, memberName: string, index: number): LockStoreClient {
    const acquireOf = (name: OwnerId): QuorumAcquire | undefined => this.acquires.get(baseOf(name));
    return {
      ...client,
      granted: (name, grant) => acquireOf(name)?.onPush(index, name, grant),
      heldByOthers: (name, holderLeaseLeft) => acquireOf(name)?.onHeldByOthers(index, name, holderLeaseLeft),
      heldBack: () => undefined,
      resumes: (name) => {
        const acquire = acquireOf(name);
        if (acquire === undefined || acquire.state === 'ended') return false;
        return acquire.members[index]?.owner === name && client.resumes(acquire.owner);
      },
      broken: (name) => acquireOf(name)?.onBroken(index, name),
      // Another member may have reconnected before: only now enough of them may still have a hold.
      reconnected: (concerns) => {
        this.missing.delete(index);
        client.reconnected(concerns);
      },
      // A single member's fallback is not that of the quorum.
      degraded: () => undefined,
      warn: (message) => {
        client.warn(`${memberName}: ${message}`);
      },
    };
  }
}
