import { Deferred } from '../../common/deferred.js';
import type {
  LockStoreError,
  MonotonicMs,
  OwnerId,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
} from '../port/lock-store.js';
import type { RenewReplies } from '../port/forwarding-session.js';
import { tried } from '../port/store-failure.js';
import { majorityOf, undecided, type QuorumContext } from './majority.js';
import type { QuorumAcquire } from './quorum-acquire.js';

/** One renewal at the members: the hold is renewed if enough of them still have it. */
class QuorumRenewal {
  /** The result, as soon as enough members have replied for it. */
  readonly decided = new Deferred<RenewReply | LockStoreError>();
  private result: RenewReply | LockStoreError | undefined;
  private readonly startedAt: MonotonicMs;
  private readonly needed: number;
  private readonly members: number;
  private renewed = 0;
  private lost = 0;
  private wasTaken = false;
  private readonly failures: LockStoreError[] = [];

  /** @param acquire undefined if the owner is unknown */
  constructor(
    { sessions, client, timers }: QuorumContext,
    private readonly acquire: QuorumAcquire | undefined,
    readonly request: RenewRequest,
  ) {
    this.members = sessions.length;
    this.needed = acquire?.needed ?? majorityOf(sessions.length);
    this.startedAt = client.now();
    // The hold will not be released: it then also ends at members that this request does not reach.
    if (request.exactly === true) timers.after(request.lease, () => acquire?.abandon());
  }

  /** The owner's name at a member; undefined if the member has not granted the lock and need not be asked. */
  nameAt(index: number): OwnerId | undefined {
    const { acquire, request } = this;
    const member = acquire?.members[index];
    if (acquire === undefined || member?.mayHold === true) return member?.owner ?? request.owner;
    this.count('gone');
    return undefined;
  }

  /** @param reply if a store leaves it out (undefined), it counts as `gone` */
  onReply(index: number, name: OwnerId, reply: RenewReply | LockStoreError | undefined): void {
    const { acquire, request } = this;
    this.count(reply);
    const member = acquire?.members[index];
    if (this.result === 'gone' || this.result === 'taken') acquire?.abandon();
    else if (acquire !== undefined && member?.owner === name) {
      if (reply === 'renewed') {
        if (request.lease > 0) member.onRenewed(this.startedAt, request, acquire.hold);
        acquire.announceHold(member);
      } else if (reply === 'gone' || reply === 'taken') member.onLost();
    }
  }

  /** Counts a reply, and decides the result once no further reply can change it. */
  private count(reply: RenewReply | LockStoreError | undefined): void {
    const { members, needed } = this;
    if (reply === 'renewed') this.renewed += 1;
    else if (reply instanceof Error) this.failures.push(reply);
    else this.lost += 1;
    this.wasTaken ||= reply === 'taken';
    if (this.result !== undefined) return;
    if (this.renewed >= needed) this.result = 'renewed';
    else if (this.lost > members - needed) this.result = this.wasTaken ? 'taken' : 'gone';
    else if (this.renewed + this.lost + this.failures.length === members) {
      this.result = undecided(members, this.failures, true, 0, needed);
    }
    if (this.result !== undefined) this.decided.resolve(this.result);
  }
}

/** Renews at all members; each lock is decided as soon as enough members have replied. */
export async function renewByMajority(
  context: QuorumContext,
  acquireOf: (request: RenewRequest) => QuorumAcquire | undefined,
  requests: readonly RenewRequest[],
): Promise<RenewReplies> {
  const renewals = requests.map((request) => new QuorumRenewal(context, acquireOf(request), request));
  for (const [index, session] of context.sessions.entries()) {
    const here = renewals.flatMap((renewal) => {
      const owner = renewal.nameAt(index);
      return owner === undefined ? [] : [{ renewal, request: { ...renewal.request, owner } }];
    });
    if (here.length === 0) continue;
    const done = tried(() => session.renew(here.map(({ request }) => request))).then((replies) => {
      here.forEach(({ renewal, request }, position) =>
        renewal.onReply(index, request.owner, replies instanceof Error ? replies : replies[position]),
      );
    });
    // Like a release, the end of a hold has to reach every member before the session closes.
    if (here.some(({ request }) => request.exactly === true)) void context.retry.track(done);
  }
  return await Promise.all(renewals.map(({ decided }) => decided));
}

/** Reserves tokens at all members, larger than all that the hold has used, whatever the members' clocks. */
export async function reserveByMajority(
  context: QuorumContext,
  acquire: QuorumAcquire | undefined,
  request: ReserveRequest,
): Promise<ReserveReply> {
  const { tokens } = request;
  const reserved: (ReserveReply & { readonly outcome: 'reserved' })[] = [];
  const renewal = new QuorumRenewal(context, acquire, request);
  for (const [index, session] of context.sessions.entries()) {
    const owner = renewal.nameAt(index);
    if (owner === undefined) continue;
    void tried(async () => await session.reserve?.({ ...request, owner })).then((reply) => {
      if (reply instanceof Error || reply?.outcome !== 'reserved') {
        renewal.onReply(index, owner, reply instanceof Error ? reply : reply?.outcome);
        return;
      }
      reserved.push(reply);
      acquire?.members[index]?.onReserved(owner, reply.token + tokens - 1);
      renewal.onReply(index, owner, 'renewed');
    });
  }
  const result = await renewal.decided;
  if (result instanceof Error) throw result;
  if (result !== 'renewed') {
    acquire?.abandon();
    return { outcome: result };
  }
  const token = Math.max(...reserved.map((reply) => reply.token), (acquire?.hold?.floor ?? 0) + 1);
  acquire?.onReserved(token + tokens - 1);
  return { outcome: 'reserved', token, othersWait: reserved.some(({ othersWait }) => othersWait) };
}
