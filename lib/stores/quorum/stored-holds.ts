import { LockStoreError, type OwnerId, type StoredHold, type StoredLock } from '../lock-store.js';
import { majorityOf, nthLargest } from './majority.js';
import { baseOf } from './seat.js';

type Answers = readonly (StoredLock | null)[];

/** Whether those that have not answered can change whether somebody has a majority, `most` being the largest part. */
export function isOpen(most: number, answers: number, members: number): boolean {
  const majority = majorityOf(members);
  return most < majority && most + members - answers >= majority;
}

/** What those members say that name the same holder, and are the most to do so. */
export function largestPart(answers: Answers): readonly StoredHold[] {
  const byOwner = new Map<OwnerId, StoredHold[]>();
  for (const lock of answers) {
    const hold = lock?.holders[0];
    if (hold === undefined) continue;
    const owner = baseOf(hold.owner);
    byOwner.set(owner, [...(byOwner.get(owner) ?? []), hold]);
  }
  let most: readonly StoredHold[] = [];
  for (const holds of byOwner.values()) if (holds.length > most.length) most = holds;
  return most;
}

/** What the members that answered say of one lock together; null when nobody has a majority. */
export function holdOf(answers: Answers, members: number): StoredLock | null {
  const majority = majorityOf(members);
  const most = largestPart(answers);
  if (most.length < majority) {
    if (most.length === 0 || !isOpen(most.length, answers.length, members)) return null;
    throw new LockStoreError(
      `${String(most.length)} of the ${String(answers.length)} servers that answered have one holder: ` +
        `without the other ${String(members - answers.length)} it is not known whether it has a majority`,
      { inDoubt: false, retryable: true },
    );
  }
  const token = Math.max(...most.map((hold) => hold.token ?? -Infinity));
  const top = most.find((hold) => hold.token === token);
  const left = nthLargest(
    most.map(({ leaseLeft = Infinity }) => leaseLeft),
    majority,
  );
  const holder = {
    owner: baseOf(most[0]?.owner ?? ''),
    token: top?.token,
    since: top?.since,
    leaseLeft: left === Infinity ? undefined : left,
    label: top?.label,
  };
  const waiters =
    answers.map((lock) => lock?.waiters ?? []).sort((one, other) => other.length - one.length)[0] ?? [];
  return { limit: 1, holders: [holder], waiters };
}

/** Whether enough members know the token by which the hold goes. They are told right after the grant. */
export function agreesOnToken(answers: Answers, lock: StoredLock, majority: number): boolean {
  const [hold] = lock.holders;
  if (hold === undefined) return true;
  const told = answers.filter(
    (answer) =>
      answer?.holders.some(({ owner, token }) => baseOf(owner) === hold.owner && token === hold.token) ===
      true,
  );
  return told.length >= majority;
}
