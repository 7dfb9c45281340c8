import type { LockStoreClient, OwnerId } from '../port/lock-store.js';
import { baseOf } from './owner-name.js';
import type { QuorumAcquire } from './quorum-acquire.js';
import { timeUntilFree } from './vote-tally.js';

/**
 * What one member sees of the client of a quorum: it speaks of names at that member, and the client is told what the
 * quorum makes of it.
 *
 * @param index of the member
 * @param acquireOf what is known of an owner
 * @param onConnected the member is there, or is there again
 */
export function memberClient(
  client: LockStoreClient,
  memberName: string,
  index: number,
  acquireOf: (owner: OwnerId) => QuorumAcquire | undefined,
  onConnected: () => void,
): LockStoreClient {
  return {
    ...client,
    granted: (owner, grant) => {
      acquireOf(baseOf(owner))?.onPush(index, owner, grant);
    },
    heldByOthers: (owner, holderLeaseLeft) => {
      const acquire = acquireOf(baseOf(owner));
      if (acquire === undefined) return;
      acquire.members[index]?.onHeldByOthers(owner, holderLeaseLeft);
      tellIfTooFewAreLeft(acquire, client);
    },
    heldBack: () => undefined,
    resumes: (owner) => {
      const acquire = acquireOf(baseOf(owner));
      if (acquire === undefined || acquire.state === 'ended') return false;
      return acquire.members[index]?.owner === owner && client.resumes(acquire.owner);
    },
    broken: (owner) => {
      acquireOf(baseOf(owner))?.onBroken(index, owner);
    },
    // Other members may have been back before it: all are asked whether enough of them still have a hold.
    reconnected: (concerns) => {
      onConnected();
      client.reconnected(concerns);
    },
    // Members are in reach or not; it is for the quorum to say what that means.
    degraded: () => undefined,
    warn: (message) => {
      client.warn(`${memberName}: ${message}`);
    },
  };
}

/** Tells an owner that others hold the lock when too few members are left that could grant it. */
function tellIfTooFewAreLeft({ owner, members, needed }: QuorumAcquire, client: LockStoreClient): void {
  const keeping = members.filter(({ keepsWaiting, isQueued }) => keepsWaiting || isQueued);
  if (keeping.length <= members.length - needed) return;
  client.heldByOthers(owner, timeUntilFree(members, needed, client.now()));
}
