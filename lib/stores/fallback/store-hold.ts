import type { HeapItem } from '../../collections/indexed-heap.js';
import type { AskRequest, OwnerId } from '../lock-store.js';

/** What the store is asked for. */
export type Wish = Pick<AskRequest, 'key' | 'limit' | 'label'>;

export function wishOf({ key, limit, label }: AskRequest): Wish {
  return { key, limit, label };
}

/** A hold of this process that the store granted. */
export interface StoreHold extends Wish, HeapItem {
  readonly owner: OwnerId;
  /** When it is over for this process if nothing prolongs it. */
  until: number;
}
