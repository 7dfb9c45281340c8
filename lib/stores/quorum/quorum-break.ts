import { breakHold } from '../port/forwarding-session.js';
import type { BreakReply, LockStoreError, LockStoreSession, StoredLock } from '../port/lock-store.js';
import { storeFailure } from '../port/store-failure.js';
import { undecided, votesNeeded } from './majority.js';
import { baseOf } from './owner-name.js';
import type { QuorumContext } from './quorum-context.js';

/** What a member knows of a lock. */
export interface MemberAnswer {
  readonly session: LockStoreSession;
  readonly lock: StoredLock | null;
}

/** A member that a hold counts on, and the name by which the member knows it. */
interface Vote {
  readonly session: LockStoreSession;
  readonly owner: string;
}

export function locksIn(answers: readonly MemberAnswer[]): readonly (StoredLock | null)[] {
  return answers.map(({ lock }) => lock);
}

/** @param owner as the quorum knows it */
export function votesFor(owner: string, answers: readonly MemberAnswer[]): readonly Vote[] {
  return answers.flatMap(({ session, lock }) => {
    const own = lock?.holders.find((holder) => baseOf(holder.owner) === owner);
    return own === undefined ? [] : [{ session, owner: own.owner }];
  });
}

/**
 * Has each member that was seen to have the hold break it. Those that can't be asked may have it, too: it is over when they
 * are too few for it.
 *
 * @param unknown how many members have not said whether they have it
 * @returns false if none of them had it any more, so that nothing was done
 */
export async function breakByMembers(
  { sessions, timers, memberTimeout }: QuorumContext,
  key: string,
  votes: readonly Vote[],
  { limit, unknown }: { readonly limit: number; readonly unknown: number },
): Promise<boolean> {
  const replies: BreakReply[] = [];
  const failures: LockStoreError[] = [];
  const requests = votes.map(async ({ session, owner }) => {
    try {
      replies.push(await breakHold(session, key, { owner }));
    } catch (error) {
      failures.push(storeFailure(error));
    }
  });
  await timers.within(memberTimeout, Promise.all(requests));
  const members = sessions.length;
  const silent = unknown + votes.length - replies.length - failures.length;
  if (silent + failures.length >= votesNeeded(members, limit)) {
    throw undecided(members, failures, true, silent);
  }
  return replies.includes('broken');
}
