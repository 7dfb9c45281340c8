import {
  LockStoreError,
  type AskReply,
  type AskRequest,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
  type OwnerId,
  type OwnerRequest,
  type ReleaseReply,
  type RenewReply,
  type RenewRequest,
  type ReserveReply,
  type ReserveRequest,
  type StoredLock,
} from '../port/lock-store.js';
import { tellKeptWaiting, wantsStill } from './vote-tally.js';
import { QuorumAcquire } from './quorum-acquire.js';
import type { QuorumContext } from './quorum-context.js';
import { MemberReleases } from './member-releases.js';
import { asked, decided, failureOf, isOutOfReach, majorityOf, undecided } from './majority.js';
import { Pauses } from './pauses.js';
import { renewByMajority } from './renewals.js';
import { baseOf } from './member-state.js';
import { isOpen, isSettled, lockOf, tokensAreKnown } from './stored-holds.js';

/** How long a member may take before it counts as missing, ms; less where leases are short. */
const PATIENCE = 250;
/** How long to wait for members whose answers are good to have, ms. */
const MOMENT = 10;
/** How often to wait as long for members that are being told the token of a hold. */
const TELLINGS = 3;

/** One client's sessions with all members, which it sees through the port only. */
export class QuorumSession implements LockStoreSession {
  readonly reserve?: (request: ReserveRequest) => Promise<ReserveReply>;

  private readonly members: readonly LockStoreSession[];
  private readonly majority: number;
  private readonly candidacies = new Map<OwnerId, QuorumAcquire>();
  private readonly pauses: Pauses;
  private readonly departures: MemberReleases;
  private readonly electorate: QuorumContext;
  /** Those that have not been there yet. */
  private readonly missing: Set<number>;

  constructor(
    private readonly stores: readonly LockStore[],
    private readonly client: LockStoreClient,
  ) {
    this.majority = majorityOf(stores.length);
    this.missing = new Set(stores.keys());
    this.members = stores.map((store, index) => store.open(this.clientOf(store, index)));
    const now = client.now.bind(client);
    this.pauses = new Pauses(now);
    this.departures = new MemberReleases(this.pauses, now);
    this.electorate = {
      members: this.members,
      client,
      pauses: this.pauses,
      departures: this.departures,
      patience: Math.min(PATIENCE, client.watchdogTimeout / 12),
      forget: (candidacy) => {
        if (this.candidacies.get(candidacy.owner) === candidacy) this.candidacies.delete(candidacy.owner);
      },
    };
    if (this.members.every((member) => member.reserve !== undefined)) {
      this.reserve = (request) => this.reserveByMajority(request);
    }
  }

  get description(): string | undefined {
    return this.missing.size === 0 ? undefined : `${String(this.missing.size)} of them missing`;
  }

  async start(): Promise<void> {
    const missing: string[] = [];
    const failures: LockStoreError[] = [];
    const starts = this.members.map(async (member, index) => {
      try {
        await asked(() => member.start());
        this.missing.delete(index);
      } catch (error) {
        const failure = failureOf(error);
        failures.push(failure);
        missing.push(`${this.stores[index]?.name ?? ''} (${failure.message})`);
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
        },
      );
    }
    // The others are about to be there, as a rule.
    await this.pauses.within(PATIENCE, all);
  }

  ask(request: AskRequest): PromiseLike<AskReply> {
    let candidacy = this.find(request);
    if (candidacy === undefined || candidacy.state === 'ended') {
      candidacy = new QuorumAcquire(this.electorate, request, candidacy);
      this.candidacies.set(request.owner, candidacy);
    }
    return candidacy.ask(request);
  }

  async cancel(request: OwnerRequest): Promise<void> {
    const candidacy = this.find(request);
    if (candidacy !== undefined) {
      await candidacy.cancel(request);
      return;
    }
    // No member is known to know the owner: enough have to keep it out.
    await decided(
      this.members.map((member) => asked(() => member.cancel(request))),
      ({ replies }) => (replies.length >= this.majority ? true : undefined),
    );
  }

  release(request: OwnerRequest): Promise<ReleaseReply> {
    const candidacy = this.find(request);
    if (candidacy !== undefined) return candidacy.release(request);
    return decided(
      this.members.map((member) => asked(() => member.release(request))),
      ({ replies, open }) => {
        const released = replies.filter((reply) => reply === 'released').length;
        if (released >= this.majority) return 'released';
        const notHeld = replies.length - released;
        return notHeld >= this.majority && released + open < this.majority ? 'not-held' : undefined;
      },
    );
  }

  renew(requests: readonly RenewRequest[]): Promise<readonly (RenewReply | LockStoreError)[]> {
    return renewByMajority(this.electorate, (request) => this.find(request), requests);
  }

  async inspect(key: string): Promise<StoredLock | null> {
    for (let look = 1; ; look++) {
      const { length } = this.members;
      const answers = await this.replies(
        (member) => member.inspect(key),
        (locks) => isOpen(locks, length),
      );
      const lock = lockOf(answers, length);
      if (lock === null || look > TELLINGS || tokensAreKnown(answers, lock, length)) return lock;
      await new Promise<void>((resolve) => {
        void this.pauses.within(MOMENT, new Promise<never>(() => undefined)).then(resolve);
      });
    }
  }

  async forceRelease(key: string): Promise<boolean> {
    const count = (replies: readonly boolean[]): number => replies.filter((wasHeld) => wasHeld).length;
    const { length } = this.members;
    const replies = await this.replies(
      (member) => member.forceRelease(key),
      (some) => !isSettled(count(some), this.majority, length - some.length),
    );
    const broken = count(replies);
    // Those that can't be asked may have held it, too.
    return broken > 0 && broken + length - replies.length >= this.majority;
  }

  async close(): Promise<void> {
    // What was given back a moment ago is still on its way to those that were not waited for.
    await this.pauses.within(this.electorate.patience, this.departures.idle());
    this.pauses.close();
    this.candidacies.clear();
    await Promise.all(this.members.map((member) => asked(() => member.close())));
  }

  private find({ key, owner }: Pick<OwnerRequest, 'key' | 'owner'>): QuorumAcquire | undefined {
    const candidacy = this.candidacies.get(owner);
    return candidacy?.key === key ? candidacy : undefined;
  }

  /**
   * What the members answer, without those that take too long.
   *
   * @param mayChange whether the answers that are missing can change the result
   */
  private async replies<T>(
    request: (member: LockStoreSession) => Promise<T>,
    mayChange: (replies: readonly T[]) => boolean,
  ): Promise<readonly T[]> {
    const replies: T[] = [];
    const failures: LockStoreError[] = [];
    const answers = this.members.map(async (member) => {
      try {
        replies.push(await request(member));
      } catch (error) {
        failures.push(failureOf(error));
      }
    });
    await decided(answers, ({ open }) => (open === 0 || replies.length >= this.majority ? true : undefined));
    const { length } = this.members;
    // Where the others can change nothing they have a moment to complete the picture.
    const limit = mayChange(replies) ? PATIENCE : MOMENT;
    await this.pauses.within(limit, Promise.all(answers));
    if (replies.length < this.majority) throw undecided(length, failures, true);
    return [...replies];
  }

  /** One more than all that the hold has used, whatever a member's clock says. */
  private async reserveByMajority(request: ReserveRequest): Promise<ReserveReply> {
    const { owner, lease, tokens } = request;
    const candidacy = this.find(request);
    const needed = candidacy?.needed ?? this.majority;
    const startedAt = this.client.now();
    const requests = this.members.flatMap((member, index) => {
      const seat = candidacy?.seats[index];
      if (candidacy !== undefined && seat?.mayHold !== true) return [];
      const name = seat?.owner ?? owner;
      return [
        asked(async (): Promise<ReserveReply> => {
          const reply = (await member.reserve?.({ ...request, owner: name })) ?? { outcome: 'gone' };
          if (seat?.owner !== name) return reply;
          if (reply.outcome !== 'reserved') seat.lost();
          else {
            if (lease > 0) seat.renewed(startedAt, { lease }, candidacy?.hold);
            seat.reserved(reply.token + tokens - 1);
          }
          return reply;
        }),
      ];
    });
    const absent = this.members.length - requests.length;
    const granted = await decided(
      requests,
      ({ replies }) => {
        const reserved = replies.flatMap((reply) => (reply.outcome === 'reserved' ? [reply] : []));
        if (reserved.length >= needed) return reserved;
        const lost = absent + replies.length - reserved.length;
        if (lost <= this.members.length - needed) return undefined;
        return replies.some(({ outcome }) => outcome === 'taken') ? ('taken' as const) : ('gone' as const);
      },
      this.members.length,
    );
    if (typeof granted === 'string') {
      candidacy?.resign();
      return { outcome: granted };
    }
    const hold = candidacy?.hold;
    const token = Math.max(...granted.map((reply) => reply.token), (hold?.floor ?? 0) + 1);
    if (candidacy !== undefined && hold !== undefined) {
      candidacy.hold = { ...hold, floor: token + tokens - 1 };
      for (const seat of candidacy.seats) candidacy.joined(seat);
    }
    return { outcome: 'reserved', token, othersWait: granted.some(({ othersWait }) => othersWait) };
  }

  private clientOf(store: LockStore, index: number): LockStoreClient {
    const { client } = this;
    return {
      id: client.id,
      watchdogTimeout: client.watchdogTimeout,
      now: () => client.now(),
      granted: (owner, grant) => {
        this.candidacies.get(baseOf(owner))?.pushed(index, owner, grant);
      },
      heldByOthers: (owner, holderLeaseLeft) => {
        tellKeptWaiting(this.candidacies.get(baseOf(owner)), { index, owner, holderLeaseLeft }, client);
      },
      heldBack: () => undefined,
      resumes: (owner) => wantsStill(this.candidacies.get(baseOf(owner)), index, owner, client),
      broken: (owner) => {
        this.candidacies.get(baseOf(owner))?.broken(index, owner);
      },
      askAgain: () => {
        client.askAgain();
      },
      // Others may have been back before it: all are asked whether enough of them still have a hold.
      reconnected: (concerns) => {
        this.missing.delete(index);
        client.reconnected(concerns);
      },
      // Members are in reach or not; it is for the quorum to say what that means.
      degraded: () => undefined,
      warn: (message) => {
        client.warn(`${store.name}: ${message}`);
      },
    };
  }
}
