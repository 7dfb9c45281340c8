import { LockOptionsError } from '../../model/lock.errors.js';
import { checkNames, checkObject, shown } from '../../model/option-checks.js';
import { requestTimeoutFor } from '../port/times.js';

/** How many replicas must have a grant before it counts. */
export interface ReplicaOptions {
  /** At least this many, from 1 to 100. */
  readonly min: number;
  /**
   * How long to wait for them, ms: from 1 to a twelfth of `watchdogTimeout`, at most 1 000. The connection carries no
   * other request meanwhile.
   *
   * @default 500, or the upper bound if that is less
   */
  readonly timeout?: number | undefined;
}

export interface Replicas {
  readonly min: number;
  /** ms */
  readonly timeout: number;
}

/** @throws LockOptionsError */
export function resolveReplicas(where: string, options: unknown, watchdogTimeout: number): Replicas {
  checkNames(where, checkObject(where, options), new Set(['min', 'timeout']));
  const { min, timeout } = options as ReplicaOptions; // its names were checked, its values are next
  if (!Number.isInteger(min) || min < 1 || min > 100) {
    throw new LockOptionsError(`${where}.min must be a number of replicas from 1 to 100; got ${shown(min)}.`);
  }
  // Half of the request timeout, so that a connection that waits for replicas is not closed as one that hangs.
  const longest = Math.floor(requestTimeoutFor(watchdogTimeout) / 2);
  if (timeout === undefined) return { min, timeout: Math.min(500, longest) };
  if (!Number.isInteger(timeout) || timeout < 1 || timeout > longest) {
    throw new LockOptionsError(
      `${where}.timeout must be a whole number of milliseconds from 1 to ${String(longest)} with a watchdogTimeout of ` +
        `${String(watchdogTimeout)}; got ${shown(timeout)}.`,
    );
  }
  return { min, timeout };
}
