import {
  LockStoreError,
  type AcquireRequest,
  type LockStoreClient,
  type LockStoreSession,
  type MonotonicMs,
  type OwnerId,
} from '../port/lock-store.js';
import type { EntryData, ReadEntry } from './entry-data.js';
import type { LockQueue, QueueEntry } from './lock-queue.js';

/** Tokens of each revision, for a hold and those that follow it in its process. */
export const TOKENS_PER_REVISION = 128;

/** The caller left before its request was sent. */
export class UnwantedError extends LockStoreError {
  constructor() {
    super('its caller has left', { inDoubt: false, retryable: true, unreachable: true });
  }
}

/** The tokens of an entry, where one revision has created several. */
export interface TokenShare {
  /** Of its first token, from the first one of the revision. */
  readonly offset: number;
  readonly count: number;
}

/** What a driver reports to its session. */
export interface DriverEvents {
  readonly client: LockStoreClient;
  /**
   * A watched entry, or the watched queue of a key, has changed. Each watch is reported once.
   *
   * @param path of the entry, or the key
   * @param isGone whether the entry, or one of the queue, may be gone; otherwise the entry was written
   */
  changed(path: string, isGone: boolean): void;
  /** A hold of this client was broken; without an owner, one or several of them. */
  broken(owner: OwnerId | undefined): void;
  /** The connection was lost, and all watches with it. */
  lost(): void;
  /** It is connected again, or for the first time after `start` rejected. */
  back(): void;
  /** The session of the store has ended, and all entries of this client with it. */
  sessionOver(): void;
  /** The store has lost data: revisions may repeat. */
  dataLost(): void;
}

/** The reply to `join`. */
export interface JoinReply {
  /** Of the new entry. Undefined if none was created, because the request does not wait and the lock has no room. */
  readonly path: string | undefined;
  /** Whether it has held the lock since it was created, as its data says. */
  readonly isHolder: boolean;
  /** The revision that created it. */
  readonly created: number;
  /** Omitted if it has all tokens of that revision. */
  readonly share?: TokenShare;
  /** The queue, not older than the entry. */
  readonly queue: LockQueue;
}

/** The new content of an entry. Without data, the write only checks that the entry exists. */
export interface EntryWrite {
  readonly key: string;
  readonly path: string;
  readonly data: EntryData | undefined;
}

/** The reply to a write. */
export interface WriteReply {
  /** The revision of the write. */
  readonly revision: number;
}

/** What a session passes on to its driver. */
type PassedOn = Pick<
  LockStoreSession,
  'description' | 'board' | 'longestUnrenewed' | 'whyTooLong' | 'start'
> &
  Required<Pick<LockStoreSession, 'connections' | 'verify' | 'listKeys'>>;

/**
 * A store that keeps an ordered queue of entries for each lock. Everything rejects with a `LockStoreError`.
 *
 * All writes are fenced: one that was sent on an earlier connection is rejected once the driver has reported `back`. The
 * entries of a client end with its session, some time after the last contact.
 */
export interface OrderedDriver extends PassedOn {
  /** Whether requests that were sent are carried out before later ones of any client, even if this process exits. */
  readonly carriesOutWhatWasSent: boolean;

  /** Until when the session lasts at least, by what the store has confirmed; needed if reads have a `readAt`. */
  readonly lastsUntil?: MonotonicMs;

  /** @param endsSession whether to end it, and its entries, now rather than after its time */
  close(endsSession: boolean): Promise<void>;

  /**
   * Whether a hold with this lease lasts as long as its session, which the store ends early enough after its process
   * died. Other leases are measured by waiters.
   *
   * @param isRenewed whether it is renewed until its hold ends
   */
  isKept(lease: number, isRenewed: boolean): boolean;
  /** The first token of a revision. */
  tokenOf(revision: number): number;
  /** Makes the tokens of later revisions larger than `floor`. */
  raiseTokens(floor: number): Promise<void>;

  /** Creates an entry at the end of a queue, and reads that queue. Rejects with an `UnwantedError` if the caller has left. */
  join(request: AcquireRequest, dataFor: (state: 'free' | 'waits') => EntryData): Promise<JoinReply>;
  /**
   * Reads a queue.
   *
   * @param isFresh whether to see everything that was committed before
   * @param watch whether to report the next entry that leaves it
   */
  queue(key: string, options?: { readonly isFresh?: boolean; readonly watch?: boolean }): Promise<LockQueue>;
  /**
   * Undefined if the entry is gone. Sees everything that this client has seen before.
   *
   * @param watch whether to report its next change
   */
  read(key: string, path: string, watch?: boolean): Promise<ReadEntry | undefined>;
  /** Reports the end of an entry in this queue. False if it is gone by now. */
  watchEnd({ path }: QueueEntry, queue: LockQueue): Promise<boolean>;
  /** Writes to all entries or none, in the order of the calls; undefined if one is gone. */
  write(...writes: readonly EntryWrite[]): Promise<WriteReply | undefined>;
  /** Writes one entry, and reads its queue. */
  writeAndRead(write: EntryWrite): Promise<(WriteReply & { readonly queue: LockQueue }) | undefined>;
  /** Deletes an entry of any client; returns whether it existed. */
  remove(key: string, path: string): Promise<boolean>;
  /** Deletes an entry that has not been written since. */
  removeUnchanged(key: string, path: string, modified: number): Promise<void>;
  /** Notifies another client, if it is still there, that its hold was broken. Never rejects. */
  tellBroken(key: string, owner: string): void;
}
