import { inMs } from '../../common/durations.js';
import type { LockLostReason } from '../../model/lock.errors.js';
import type { Lease } from './lease.js';

/** Why a lease whose time is over was lost. */
export function endOf(lease: Lease): { readonly reason: LockLostReason; readonly story: string } {
  const { fixedLease, renewalFailure } = lease;
  // A leaseTime would be over in any case, whatever was asked about it meanwhile.
  const hasRunOut = !lease.isRenewed;
  if (renewalFailure !== undefined && !hasRunOut) {
    return { reason: 'unreachable', story: `it could not be renewed in time (${renewalFailure.message})` };
  }
  if (fixedLease !== undefined && hasRunOut) {
    return { reason: 'expired', story: `its leaseTime of ${inMs(fixedLease)} is over` };
  }
  return {
    reason: 'expired',
    story: 'the process was stopped or its event loop blocked for longer than the lease',
  };
}
