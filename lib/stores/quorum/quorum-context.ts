import type { LockStoreClient, LockStoreSession } from '../port/lock-store.js';
import type { QuorumAcquire } from './quorum-acquire.js';
import type { MemberReleases } from './member-releases.js';
import type { Pauses } from './pauses.js';

/** What the candidacies of a session share. */
export interface QuorumContext {
  readonly members: readonly LockStoreSession[];
  readonly client: LockStoreClient;
  readonly pauses: Pauses;
  readonly departures: MemberReleases;
  /** How long a member may take before it counts as missing, ms. */
  readonly patience: number;
  /** Nothing is to be known of that candidacy any more. */
  forget(candidacy: QuorumAcquire): void;
}
