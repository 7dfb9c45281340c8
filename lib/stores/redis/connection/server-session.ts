import type { WholeSession, RenewReplies } from '../../port/forwarding-session.js';
import type {
  AskRequest,
  Grant,
  ListedKeys,
  ListKeysRequest,
  LockBoard,
  RenewRequest,
  StoreConnection,
} from '../../port/lock-store.js';

/** What a server that is part of a cluster has besides. */
export interface ClusterPart {
  /** The lowest of the slots that it has, by which its channels are named. */
  readonly slot: number;
  /** Whether the server has the slot of a key. */
  readonly concerns: (key: string) => boolean;
  /** The map of the cluster may have become wrong. */
  outdated(): void;
}

/** A session with one server, which may be one of a cluster. */
export interface ServerSession extends WholeSession {
  listKeys(request: ListKeysRequest): Promise<ListedKeys>;
  verify(): Promise<void>;
  connections(): readonly StoreConnection[];
  readonly board: LockBoard;
  takeAll(requests: readonly AskRequest[]): Promise<readonly Grant[] | number>;
  /** Renews locks whose slot is on its way to this server. */
  renewAsking(requests: readonly RenewRequest[]): Promise<RenewReplies>;
  /** The server has another slot by which its channels are named. */
  listenBy(slot: number): void;
}
