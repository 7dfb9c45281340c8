import { LockStoreError, type OwnerId, type StoredHold, type StoredLock } from '../port/lock-store.js';
import { nthLargest, votesNeeded } from './majority.js';
import { baseOf } from './owner-name.js';

type Answers = readonly (StoredLock | null)[];

/** What the members say of one holder. */
interface Part {
  readonly owner: OwnerId;
  readonly limit: number;
  /** How many members have to name it. */
  readonly needed: number;
  readonly holds: readonly StoredHold[];
}

function partsOf(answers: Answers, members: number): readonly Part[] {
  const byOwner = new Map<OwnerId, { limit: number; holds: StoredHold[] }>();
  for (const { limit, holders } of answers.flatMap((lock) => lock ?? [])) {
    for (const hold of holders) {
      const owner = baseOf(hold.owner);
      const part = byOwner.get(owner) ?? { limit, holds: [] };
      part.holds.push(hold);
      byOwner.set(owner, part);
    }
  }
  return [...byOwner].map(([owner, { limit, holds }]) => {
    return { owner, limit, holds, needed: votesNeeded(members, limit) };
  });
}

/** Whether so many that have not answered can't change whether `votes` are enough. */
export function isSettled(votes: number, needed: number, missing: number): boolean {
  return votes >= needed || votes + missing < needed;
}

/** Whether those that have not answered can change who holds the lock. */
export function isOpen(answers: Answers, members: number): boolean {
  const missing = members - answers.length;
  return partsOf(answers, members).some(({ holds, needed }) => !isSettled(holds.length, needed, missing));
}

/** What the members that answered say of one lock together; null when nobody is named by enough of them. */
export function lockOf(answers: Answers, members: number): StoredLock | null {
  const parts = partsOf(answers, members);
  const [first, ...others] = parts.filter(({ holds, needed }) => holds.length >= needed);
  if (first === undefined) {
    if (!isOpen(answers, members)) return null;
    const most = Math.max(...parts.map(({ holds }) => holds.length));
    throw new LockStoreError(
      `${String(most)} of the ${String(answers.length)} servers that answered have one holder: ` +
        `without the other ${String(members - answers.length)} it is not known whether it has enough of them`,
      { inDoubt: false, retryable: true },
    );
  }
  const holders = [first, ...others].map(holdOf).sort(byToken);
  const isHolder = new Set<string>(holders.map(({ owner }) => owner));
  const [waiters = []] = answers
    .map((lock) => lock?.waiters ?? [])
    .sort((one, other) => other.length - one.length);
  return {
    limit: first.limit,
    holders,
    waiters: waiters
      .map((waiter) => ({ ...waiter, owner: baseOf(waiter.owner) }))
      // On its way out of the queues where it stood in vain.
      .filter(({ owner }) => !isHolder.has(owner)),
  };
}

function holdOf({ owner, needed, holds }: Part): StoredHold {
  const token = Math.max(...holds.map((hold) => hold.token ?? -Infinity));
  const top = holds.find((hold) => hold.token === token);
  const left = nthLargest(
    holds.map(({ leaseLeft = Infinity }) => leaseLeft),
    needed,
  );
  return {
    owner,
    token: top?.token,
    since: top?.since,
    leaseLeft: left === Infinity ? undefined : left,
    label: top?.label,
  };
}

/** Tokens grow. */
function byToken(one: StoredHold, other: StoredHold): number {
  return (one.token ?? 0) - (other.token ?? 0);
}

/** Whether enough members know the tokens by which the holds go. They are told right after the grant. */
export function tokensAreKnown(answers: Answers, lock: StoredLock, members: number): boolean {
  const needed = votesNeeded(members, lock.limit);
  return lock.holders.every(
    (hold) =>
      answers.filter(
        (answer) =>
          answer?.holders.some(({ owner, token }) => baseOf(owner) === hold.owner && token === hold.token) ===
          true,
      ).length >= needed,
  );
}
