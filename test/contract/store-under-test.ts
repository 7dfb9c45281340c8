import type { DistributedLockOptions, LockStore } from '../../lib/index.js';

/** What the contract needs of a store. To add a store, give a factory of this and call `lockStoreContract` with it. */
export interface StoreUnderTest {
  /** Module options with which one more process would use this same store. */
  options(): DistributedLockOptions;
  /** The port's implementation itself, on the same store. */
  port(): LockStore;
  /** Names of whatever is left in the store; the fencing counter may stay (P4). */
  leftovers(): Promise<readonly string[]>;
  /** Forgets everything, so that what one test left does not show in the next. */
  clear(): Promise<void>;
  /** A request to the store and back: how busy it is, for tests that measure. */
  roundTrip(): Promise<unknown>;
  /**
   * Resolves when the store has carried out what it was asked so far. One of several servers answers as soon as enough of
   * them have, and waiters stand in order only where all of them saw them in that order.
   */
  settled(): Promise<void>;
  /** How long a request and its reply are on their way besides what they take on this machine, ms. */
  readonly delay: number;
  /** Whether tests of it can't have virtual time, so that they have to leave time for a busy machine; not if left out. */
  readonly isInRealTime?: boolean;
  /** Whether a request can reach the store after its sender has given up on it. */
  readonly canBeLate: boolean;
  /** Whether tokens of different locks come from one counter; those of one lock grow in any case (B16). */
  readonly hasOneCounter: boolean;
  /** Whether several servers decide together, so that what some of them grant before a question is no answer to it. */
  readonly isDecidedByVotes: boolean;
  /** Whether it knows only upper bounds of other processes' leases; exact if left out. */
  readonly boundsLeasesOfOthers?: boolean;
  /**
   * Whether a crash frees locks when the store's own lease or session ends: after at most 1.5 times `watchdogTimeout`, rounded
   * up to whole seconds. After one `watchdogTimeout` at most if left out.
   */
  readonly freesCrashedInSeconds?: boolean;
  /** Whether its sessions end in real time though tests have virtual time; not if left out. */
  readonly hasSessionsInRealTime?: boolean;
  /** Whether those who wait are served as soon as a lease ends, before anybody asks; not if left out. */
  readonly servesAtEndOfLease?: boolean;
  /** Whether holders of shares that are granted together get their tokens in any order; not if left out. */
  readonly numbersSharesAsTheyCome?: boolean;
  /**
   * For a store that a session keeps in touch with by itself: the store on a connection of its own, which `cut` ends for good,
   * as a crash of the process does.
   */
  mortal?(): Promise<{ readonly port: LockStore; cut(): Promise<void>; close(): Promise<void> }>;
  close(): Promise<void>;
}

export type StoreFactory = () => Promise<StoreUnderTest>;
