import type { HeapItem } from '../../common/indexed-heap.js';
import type { AskRequest, OwnerId } from '../port/lock-store.js';

/** What the store is asked for. */
export type LockSpec = Pick<AskRequest, 'key' | 'limit' | 'label'>;

export function lockSpecOf({ key, limit, label }: AskRequest): LockSpec {
  return { key, limit, label };
}

/** A hold of this process that the store granted. */
export interface RemoteHold extends LockSpec, HeapItem {
  readonly owner: OwnerId;
  /** When it is over for this process if nothing prolongs it. */
  until: number;
}
