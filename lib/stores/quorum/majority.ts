import type { BackgroundRetry } from '../../common/background-retry.js';
import type { TimerQueue } from '../../common/timer-queue.js';
import { LockStoreError, type LockStoreClient, type LockStoreSession } from '../port/lock-store.js';
import { storeFailure } from '../port/store-failure.js';

/** The common context of all acquisitions of a session. */
export interface QuorumContext {
  /** One session for each member. */
  readonly sessions: readonly LockStoreSession[];
  readonly client: LockStoreClient;
  readonly timers: TimerQueue;
  readonly retry: BackgroundRetry;
  /** How long a member may take before it counts as missing, ms. */
  readonly memberTimeout: number;
}

/** The smallest number of members such that any two groups of this size have a member in common. */
export function majorityOf(members: number): number {
  return Math.floor(members / 2) + 1;
}

/**
 * How many members have to grant a lock with this limit. Each member grants it to `limit` holders, so one further
 * holder must not find enough votes among all members. Readers only have to exclude writers.
 */
export function votesNeeded(members: number, limit: number): number {
  return limit === Infinity ? majorityOf(members) : Math.floor((members * limit) / (limit + 1)) + 1;
}

/** The outcomes of a request to several members so far. */
export interface Tally<T> {
  readonly replies: readonly T[];
  readonly failures: readonly LockStoreError[];
  /** How many members have not replied yet. */
  readonly open: number;
}

/**
 * Resolves as soon as `decide`, called after each reply, returns a result. Slower members delay nothing. Rejects if all
 * have replied without a result.
 *
 * @param members how many there are, if the request was not sent to all of them
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

/** Resolves as soon as a majority of the members has replied; all must have been asked. */
export async function confirmedByMajority(requests: readonly Promise<unknown>[]): Promise<void> {
  const majority = majorityOf(requests.length);
  await decided(requests, ({ replies }) => (replies.length >= majority ? true : undefined));
}

/** Whether so many members are unreachable that the others are no majority. One that rejects requests is reachable. */
export function isOutOfReach(members: number, failures: readonly LockStoreError[], silent = 0): boolean {
  const away = failures.filter(({ unreachable }) => unreachable).length + silent;
  return away > members - majorityOf(members);
}

/**
 * Too few members have replied for a decision.
 *
 * @param silent how many have not replied in time
 * @param needed how many replies the decision needs, if more than a majority
 */
export function undecided(
  members: number,
  failures: readonly LockStoreError[],
  inDoubt: boolean,
  silent = 0,
  needed = majorityOf(members),
): LockStoreError {
  const [first] = failures;
  const why = first === undefined ? 'the others did not reply in time' : first.message;
  const replied = members - Math.max(failures.length, members - needed + 1);
  const what =
    needed === majorityOf(members)
      ? `no majority of the ${String(members)} servers is available`
      : `with its limit this lock needs ${String(needed)} of the ${String(members)} servers`;
  return new LockStoreError(`${what}: at most ${String(replied)} replied (${why})`, {
    inDoubt,
    // One member that can recover makes another attempt worthwhile.
    retryable: failures.length === 0 || failures.some(({ retryable }) => retryable),
    unreachable: isOutOfReach(members, failures, silent),
    remedy: first?.remedy,
    cause: first,
  });
}
