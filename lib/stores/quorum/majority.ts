import { LockStoreError } from '../port/lock-store.js';
import { storeFailure } from '../port/store-failure.js';

/** The fewest of so many members that any two such groups share one. */
export function majorityOf(members: number): number {
  return Math.floor(members / 2) + 1;
}

/**
 * How many members have to grant a lock that so many may hold at once. Each of them grants it to as many as that, so one
 * holder more than the limit must not find enough votes among all that there are. Readers only have to meet writers.
 */
export function votesNeeded(members: number, limit: number): number {
  return limit === Infinity ? majorityOf(members) : Math.floor((members * limit) / (limit + 1)) + 1;
}

/** The n-th largest value, counted from 1. */
export function nthLargest(values: readonly number[], n: number): number {
  return [...values].sort((one, other) => other - one)[n - 1] ?? -Infinity;
}

/** What became of a request to several members so far. */
export interface Tally<T> {
  readonly replies: readonly T[];
  readonly failures: readonly LockStoreError[];
  /** How many members have not replied yet. */
  readonly open: number;
}

/**
 * Resolves as soon as `decide` gives a result; it is asked after each reply. Members that have not replied by then
 * delay nobody. What no reply decides is an error.
 *
 * @param members how many there are, should some not be asked
 */
export function decided<T, R>(
  requests: readonly Promise<T>[],
  decide: (tally: Tally<T>) => R | undefined,
  members = requests.length,
): Promise<R> {
  return new Promise((resolve, reject) => {
    const replies: T[] = [];
    const failures: LockStoreError[] = [];
    let open = requests.length;
    const check = (): void => {
      const result = decide({ replies, failures, open });
      if (result !== undefined) resolve(result);
      else if (open === 0) reject(undecided(members, failures, true));
    };
    for (const request of requests) {
      request.then(
        (reply) => {
          open -= 1;
          replies.push(reply);
          check();
        },
        (error: unknown) => {
          open -= 1;
          failures.push(storeFailure(error));
          check();
        },
      );
    }
    if (open === 0) check();
  });
}

/** Whether so many members are out of reach that the others are no majority. One that refuses is there. */
export function isOutOfReach(members: number, failures: readonly LockStoreError[], silent = 0): boolean {
  const away = failures.filter(({ unreachable }) => unreachable).length + silent;
  return away > members - majorityOf(members);
}

/**
 * Too few members have answered for a decision.
 *
 * @param silent how many have not answered in time
 * @param needed how many would have had to, if more than a majority
 */
export function undecided(
  members: number,
  failures: readonly LockStoreError[],
  inDoubt: boolean,
  silent = 0,
  needed = majorityOf(members),
): LockStoreError {
  const [first] = failures;
  const why = first === undefined ? 'the others did not answer in time' : first.message;
  const replied = members - Math.max(failures.length, members - needed + 1);
  const what =
    needed === majorityOf(members)
      ? `no majority of the ${String(members)} servers could be asked`
      : `with its limit this lock needs ${String(needed)} of the ${String(members)} servers`;
  return new LockStoreError(`${what}: at most ${String(replied)} answered (${why})`, {
    inDoubt,
    // One of those that can come back is enough for another try.
    retryable: failures.length === 0 || failures.some(({ retryable }) => retryable),
    unreachable: isOutOfReach(members, failures, silent),
    remedy: first?.remedy,
    cause: first,
  });
}
