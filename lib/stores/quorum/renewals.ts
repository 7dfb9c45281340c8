import type { LockStoreError, LockStoreSession, RenewReply, RenewRequest } from '../port/lock-store.js';
import type { QuorumAcquire } from './quorum-acquire.js';
import type { QuorumContext } from './quorum-context.js';
import { asked, majorityOf, undecided } from './majority.js';
import type { MemberState } from './member-state.js';

/** What the members say of one renewal. */
class Verdict {
  result: RenewReply | LockStoreError | undefined;
  private renewed = 0;
  private lost = 0;
  private wasTaken = false;
  private readonly failures: LockStoreError[] = [];

  constructor(
    private readonly members: number,
    private readonly needed: number,
  ) {}

  /** With undefined a member is known not to have the owner. */
  heard(answer: RenewReply | LockStoreError | undefined): void {
    const { members, needed } = this;
    if (answer === 'renewed') this.renewed += 1;
    else if (answer instanceof Error) this.failures.push(answer);
    else this.lost += 1;
    this.wasTaken ||= answer === 'taken';
    if (this.renewed >= needed) this.result ??= 'renewed';
    else if (this.lost > members - needed) this.result ??= this.wasTaken ? 'taken' : 'gone';
    else if (this.renewed + this.lost + this.failures.length === members) {
      this.result ??= undecided(members, this.failures, true, 0, needed);
    }
  }
}

/** One renewal on its way to one member. */
interface Item {
  readonly verdict: Verdict;
  readonly request: RenewRequest;
  readonly candidacy: QuorumAcquire | undefined;
  readonly seat: MemberState | undefined;
}

/** Renews on all members; each lock is decided by as many as it needs, and the answer waits for no more than that. */
export function renewByMajority(
  { members, client, pauses }: Pick<QuorumContext, 'members' | 'client' | 'pauses'>,
  candidacyOf: (request: RenewRequest) => QuorumAcquire | undefined,
  requests: readonly RenewRequest[],
): Promise<readonly (RenewReply | LockStoreError)[]> {
  const verdicts = requests.map((request) => {
    const candidacy = candidacyOf(request);
    const needed = candidacy?.needed ?? majorityOf(members.length);
    // Nobody will give it back: it is to be over then also where a member is not told of that.
    if (request.exactly === true) pauses.after(request.lease, () => candidacy?.resign());
    return new Verdict(members.length, needed);
  });
  const startedAt = client.now();

  const itemsOf = (index: number): readonly Item[] =>
    requests.flatMap((request, position): Item[] => {
      const verdict = verdicts[position];
      if (verdict === undefined) return [];
      const candidacy = candidacyOf(request);
      const seat = candidacy?.seats[index];
      if (candidacy !== undefined && seat?.mayHold !== true) {
        verdict.heard(undefined);
        return [];
      }
      return [{ verdict, candidacy, seat, request: { ...request, owner: seat?.owner ?? request.owner } }];
    });

  const heard = (item: Item, answer: RenewReply | LockStoreError | undefined): void => {
    const { verdict, request, candidacy, seat } = item;
    verdict.heard(answer);
    if (verdict.result === 'gone' || verdict.result === 'taken') {
      candidacy?.resign();
      return;
    }
    if (candidacy === undefined || seat?.owner !== request.owner) return;
    if (answer === 'renewed') {
      seat.renewed(startedAt, request, candidacy.hold);
      candidacy.joined(seat);
    } else if (answer === 'gone' || answer === 'taken') seat.lost();
  };

  const ask = async (member: LockStoreSession, items: readonly Item[]): Promise<void> => {
    try {
      const replies = await asked(() => member.renew(items.map(({ request }) => request)));
      items.forEach((item, position) => {
        heard(item, replies[position]);
      });
    } catch (error) {
      for (const item of items) heard(item, error as LockStoreError); // see asked()
    }
  };

  return new Promise((resolve) => {
    const look = (): void => {
      const results = verdicts.flatMap(({ result }) => result ?? []);
      if (results.length === verdicts.length) resolve(results);
    };
    for (const [index, member] of members.entries()) {
      const items = itemsOf(index);
      if (items.length > 0) void ask(member, items).then(look);
    }
    look();
  });
}
