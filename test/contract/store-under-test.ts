import type { DistributedLockOptions } from '../../lib/index.js';
import type { LockStore } from '../../lib/stores/port/index.js';

/** What the contract needs of a store. To add a store, write a factory of this and call `lockStoreContract` with it. */
export interface StoreUnderTest {
  /** Module options for one more process on this store. */
  options(): DistributedLockOptions;
  /** The implementation of the port, on the same store. */
  port(): LockStore;
  /** Whether it accepts a valid key. Default: it accepts each. */
  accepts?(key: string): boolean;
  /** Names of all that is left in the store; the fencing counter may stay (P4). */
  leftovers(): Promise<readonly string[]>;
  /** Deletes everything, so that no test sees leftovers of another. */
  clear(): Promise<void>;
  /** One request and its reply: tests that measure take the load of the store from it. */
  roundTrip(): Promise<unknown>;
  /**
   * Resolves when the store has carried out all requests so far. A quorum replies as soon as a majority has, and
   waiters are in order only if all servers saw them in that order.
   */
  settled(): Promise<void>;
  /**
   * Whether a process that has waited is notified by every server. A quorum serves a waiter as soon as a majority has granted
   * it the lock, while subscriptions to the other servers are still under way. Default: it is.
   */
  isListening?(): Promise<boolean>;
  /**
   * Whether its sessions open the connection for messages at the start, in the background: processes in tests have it before they
   * are used, so that they miss none. Default: false.
   */
  readonly listensFromStart?: boolean;
  /** The artificial round-trip time of a request and its reply, ms. */
  readonly delay: number;
  /** Whether its tests can't use virtual time and have to allow for a busy machine. Default: false. */
  readonly isInRealTime?: boolean;
  /** Whether a request can reach the store after its sender has given up on it. */
  readonly canBeLate: boolean;
  /** Whether tokens of different locks come from one counter. Tokens of one lock always grow (B16). */
  readonly hasOneCounter: boolean;
  /** Whether several servers decide by votes, so that a grant of some of them is not yet a grant. */
  readonly isDecidedByVotes: boolean;
  /** Whether it knows only upper bounds of other processes' leases. Default: false, it knows them exactly. */
  readonly boundsLeasesOfOthers?: boolean;
  /**
   * Whether a crash frees locks when the store's own lease or session ends: after at most 1.5 times `watchdogTimeout`, rounded
   up to whole seconds. Default: false, after at most one `watchdogTimeout`.
   */
  readonly freesCrashedInSeconds?: boolean;
  /** Whether its sessions end in real time even in tests with virtual time. Default: false. */
  readonly hasSessionsInRealTime?: boolean;
  /** Whether waiters are served as soon as a lease ends, without a further request. Default: false. */
  readonly servesAtEndOfLease?: boolean;
  /** Whether shared holds that are granted together get their tokens in any order. Default: false. */
  readonly grantsTokensInAnyOrder?: boolean;
  /**
   * For a store whose session sends its own heartbeats: the store on a separate connection, which `cut` ends for good,
   as a crash of the process does.
   */
  mortal?(): Promise<{ readonly port: LockStore; cut(): Promise<void>; close(): Promise<void> }>;
  close(): Promise<void>;
}

export type StoreFactory = () => Promise<StoreUnderTest>;
