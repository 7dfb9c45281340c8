import type { LockStoreClient, LockStoreSession } from '../lock-store.js';
import type { Candidacy } from './candidacy.js';
import type { Departures } from './departures.js';
import type { Pauses } from './pauses.js';

/** What the candidacies of a session share. */
export interface Electorate {
  readonly members: readonly LockStoreSession[];
  readonly client: LockStoreClient;
  readonly pauses: Pauses;
  readonly departures: Departures;
  /** How long a member may take before it counts as missing, ms. */
  readonly patience: number;
  /** Nothing is to be known of that candidacy any more. */
  forget(candidacy: Candidacy): void;
}
