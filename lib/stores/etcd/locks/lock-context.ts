import type { SessionTimers } from '../../port/times.js';
import type { LockStoreClient } from '../../port/lock-store.js';
import type { EtcdConnection } from '../connection/etcd-connection.js';
import type { KeyTurns } from './key-turns.js';
import type { KeyNames } from './key-names.js';
import type { Observations } from './observations.js';
import type { OwnEntry } from './own-entry.js';
import type { SessionLeases } from './session-leases.js';
import type { TokenBase } from './token-base.js';
import type { Transactions } from './transactions.js';
import type { Watches } from './watches.js';

/** What the parts of a session share. */
export interface LockContext {
  readonly client: LockStoreClient;
  readonly connection: Pick<EtcdConnection, 'call' | 'trouble'>;
  readonly names: KeyNames;
  readonly transactions: Transactions;
  readonly turns: KeyTurns;
  readonly leases: SessionLeases;
  readonly base: TokenBase;
  readonly watches: Watches;
  readonly observations: Observations;
  /** The owners of this session that have an entry, by {@link ownName}. */
  readonly own: Map<string, OwnEntry>;
  readonly timers: SessionTimers;
}

/** An owner is used for one acquisition; but nobody keeps others from asking about it elsewhere. */
export function ownName(key: string, owner: string): string {
  return `${owner} ${key}`;
}
