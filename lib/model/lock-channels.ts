import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { LockEvent } from './lock.events.js';
import type { LockHandle } from './lock-handle.js';
import type { LockKind } from './lock-kind.js';

/** What a message on `nestjs-distributed-lock:event` is. */
export interface LockEventMessage {
  /** The `name` of the module instance. */
  readonly instance: string | undefined;
  readonly event: LockEvent;
}

/** How a call for a lock ended. */
export type AcquireOutcome =
  'granted' | 'timeout' | 'skipped' | 'queue-full' | 'aborted' | 'closed' | 'unavailable' | 'refused';

/** What all traced steps of a call know. */
interface LockTrace extends LockKind {
  /** The `name` of the module instance. */
  readonly instance: string | undefined;
  readonly keys: readonly string[];
}

/** The message on the channels of `nestjs-distributed-lock:acquire`: one call, from the call to its outcome. */
export interface AcquireTrace extends LockTrace {
  readonly waitTime: number;
  /** Since when it has waited for others, ms since the epoch on the local clock; left out until it does. */
  waitingSince?: number;
  /** Set before `asyncEnd`. */
  outcome?: AcquireOutcome;
  /** ms from the call to its outcome; set before `asyncEnd`. */
  duration?: number;
  /** The handle, where the lock was granted. */
  result?: LockHandle | null;
  error?: unknown;
}

/** The message on the channels of `nestjs-distributed-lock:hold`: work that runs under a lock. */
export interface HoldTrace extends LockTrace {
  readonly handle: LockHandle;
  /** Runs the work, where a subscriber of `start` has set it, such as in the context of a span. */
  around?: (work: () => Promise<unknown>) => Promise<unknown>;
  /** Of the work. */
  error?: unknown;
}

/** What the store is asked; `verify` is a health check. */
export type StoreOperation =
  | 'ask'
  | 'cancel'
  | 'release'
  | 'renew'
  | 'reserve'
  | 'raise'
  | 'take-all'
  | 'inspect'
  | 'verify'
  | 'list-keys'
  | 'force-release';

/** What a message on `nestjs-distributed-lock:request` is: a request to the store that has come to an end. */
export interface StoreRequestMessage {
  /** The `name` of the module instance. */
  readonly instance: string | undefined;
  readonly operation: StoreOperation;
  /** ms from the call of the store to its reply. Requests of one tick go together, and take as long as one. */
  readonly duration: number;
  /** Why there was no reply. */
  readonly error: unknown;
}

/** Every request to a store. */
export const requestChannel = channel('nestjs-distributed-lock:request');

/** Every event of every module instance of the process. */
export const eventChannel = channel('nestjs-distributed-lock:event');

/** Around each call for a lock, in the caller's asynchronous context. */
export const acquireChannel = tracingChannel<unknown, AcquireTrace>('nestjs-distributed-lock:acquire');

/** Around work that runs under a lock: `withLock`, `@Locked` and `handle.run`. */
export const holdChannel = tracingChannel<unknown, HoldTrace>('nestjs-distributed-lock:hold');

type Channels = typeof acquireChannel | typeof holdChannel;

/** Whether anybody listens to a step. */
export function isTraced({ start, end, asyncStart, asyncEnd, error }: Channels): boolean {
  return (
    start.hasSubscribers ||
    asyncEnd.hasSubscribers ||
    end.hasSubscribers ||
    asyncStart.hasSubscribers ||
    error.hasSubscribers
  );
}
