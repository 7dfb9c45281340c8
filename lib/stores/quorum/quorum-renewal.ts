import type { LockStoreError, LockStoreSession, RenewReply, RenewRequest } from '../port/lock-store.js';
import type { RenewReplies } from '../port/renew-in-parts.js';
import { asked } from '../port/store-failure.js';
import { majorityOf, undecided } from './majority.js';
import type { MemberState } from './member-state.js';
import type { QuorumAcquire } from './quorum-acquire.js';
import type { QuorumContext } from './quorum-context.js';

/** What the members say of one renewal. */
class RenewalTally {
  result: RenewReply | LockStoreError | undefined;
  private renewed = 0;
  private lost = 0;
  private wasTaken = false;
  private readonly failures: LockStoreError[] = [];

  constructor(
    private readonly members: number,
    private readonly needed: number,
  ) {}

  /** @param reply undefined of a member that is known not to have granted the lock */
  add(reply: RenewReply | LockStoreError | undefined): void {
    const { members, needed } = this;
    if (reply === 'renewed') this.renewed += 1;
    else if (reply instanceof Error) this.failures.push(reply);
    else this.lost += 1;
    this.wasTaken ||= reply === 'taken';
    if (this.renewed >= needed) this.result ??= 'renewed';
    else if (this.lost > members - needed) this.result ??= this.wasTaken ? 'taken' : 'gone';
    else if (this.renewed + this.lost + this.failures.length === members) {
      this.result ??= undecided(members, this.failures, true, 0, needed);
    }
  }
}

/** One renewal on its way to one member. */
interface MemberRenewal {
  readonly tally: RenewalTally;
  readonly request: RenewRequest;
  readonly acquire: QuorumAcquire | undefined;
  readonly member: MemberState | undefined;
}

/** Renews at all members; each lock is decided by as many as it needs, and the reply waits for no more than that. */
export function renewByMajority(
  { sessions, client, timers, retry }: QuorumContext,
  acquireOf: (request: RenewRequest) => QuorumAcquire | undefined,
  requests: readonly RenewRequest[],
): Promise<RenewReplies> {
  const tallies = requests.map((request) => {
    const acquire = acquireOf(request);
    const needed = acquire?.needed ?? majorityOf(sessions.length);
    // Nobody will give it back: it is to be over then also where a member is not told of that.
    if (request.exactly === true) timers.after(request.lease, () => acquire?.abandon());
    return new RenewalTally(sessions.length, needed);
  });
  const startedAt = client.now();

  const renewalsAt = (index: number): readonly MemberRenewal[] =>
    requests.flatMap((request, position): MemberRenewal[] => {
      const tally = tallies[position];
      if (tally === undefined) return [];
      const acquire = acquireOf(request);
      const member = acquire?.members[index];
      if (acquire !== undefined && member?.mayHold !== true) {
        tally.add(undefined);
        return [];
      }
      return [{ tally, acquire, member, request: { ...request, owner: member?.owner ?? request.owner } }];
    });

  const onReply = (renewal: MemberRenewal, reply: RenewReply | LockStoreError | undefined): void => {
    const { tally, request, acquire, member } = renewal;
    tally.add(reply);
    if (tally.result === 'gone' || tally.result === 'taken') {
      acquire?.abandon();
      return;
    }
    if (acquire === undefined || member?.owner !== request.owner) return;
    if (reply === 'renewed') {
      member.onRenewed(startedAt, request, acquire.hold);
      acquire.announceHold(member);
    } else if (reply === 'gone' || reply === 'taken') member.onLost();
  };

  const renewAt = async (session: LockStoreSession, renewals: readonly MemberRenewal[]): Promise<void> => {
    try {
      const replies = await asked(() => session.renew(renewals.map(({ request }) => request)));
      renewals.forEach((renewal, position) => {
        onReply(renewal, replies[position]);
      });
    } catch (error) {
      for (const renewal of renewals) onReply(renewal, error as LockStoreError); // see asked()
    }
  };

  return new Promise((resolve) => {
    const resolveWhenDecided = (): void => {
      const results = tallies.flatMap(({ result }) => result ?? []);
      if (results.length === tallies.length) resolve(results);
    };
    for (const [index, session] of sessions.entries()) {
      const renewals = renewalsAt(index);
      if (renewals.length === 0) continue;
      const done = renewAt(session, renewals).then(resolveWhenDecided);
      // The end of a hold is to reach each member, like its release.
      if (renewals.some(({ request }) => request.exactly === true)) void retry.track(done);
    }
    resolveWhenDecided();
  });
}
