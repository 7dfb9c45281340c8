import type { LockAddress, ShownHold } from '../wire.js';

/** A hold, as the table shows it. */
export interface HeldRow extends LockAddress {
  readonly id: string;
  readonly mode: 'exclusive' | 'shared';
  readonly limit: number | null;
  readonly name: string;
  readonly label: string;
  readonly token: number | null;
  readonly holder: string;
  /** ms; `null` where it is not known. */
  readonly heldFor: number | null;
  /** ms of the lease; `null`: without end. */
  readonly left: number | null;
  /** Whether that is only an upper bound. */
  readonly leftIsBound: boolean;
  readonly waiting: number;
  /** What is wrong with it. */
  readonly trouble: string;
}

/** Keys of different module instances are different locks. */
export function addressId({ key, instance }: LockAddress): string {
  return `${instance ?? ''}\n${key}`;
}

/** Which hold of a lock. */
export function holdId(address: LockAddress, token: number | null): string {
  return `${addressId(address)}\n${String(token)}`;
}

/** Whether a hold of a lock began after one was told of, and can't be beside it. */
export function isFollowedBy(limit: number | null, at: number, latest: ShownHold): boolean {
  return (limit === 1 || latest.limit === 1) && latest.since >= at;
}
