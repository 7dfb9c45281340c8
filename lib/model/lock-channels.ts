import { channel, type Channel, tracingChannel } from 'node:diagnostics_channel';
import type { LockEvent } from './lock.events.js';
import type { LockHandle } from './lock-handle.js';
import type { LockKind } from './lock-kind.js';

/** The message on `nestjs-distributed-lock:event`. */
export interface LockEventMessage {
  /** The `name` of the module instance. */
  readonly instance: string | undefined;
  readonly event: LockEvent;
}

/** How a call for a lock ended. */
export type AcquireOutcome =
  'granted' | 'timeout' | 'skipped' | 'queue-full' | 'aborted' | 'closed' | 'unavailable' | 'refused';

/** The common part of all traces. */
interface LockTrace extends LockKind {
  /** The `name` of the module instance. */
  readonly instance: string | undefined;
  readonly keys: readonly string[];
}

/** The message on the channels of `nestjs-distributed-lock:acquire`: one call, from the call to its outcome. */
export interface AcquireTrace extends LockTrace {
  readonly waitTime: number;
  /** When the call began to wait, ms since the epoch on the local clock; absent until then. */
  waitingSince?: number;
  /** Set before `asyncEnd`. */
  outcome?: AcquireOutcome;
  /** ms from the call to its outcome; set before `asyncEnd`. */
  duration?: number;
  /** The handle, if the lock was granted. */
  result?: LockHandle | null;
  error?: unknown;
}

/** The message on the channels of `nestjs-distributed-lock:hold`: work under a lock. */
export interface HoldTrace extends LockTrace {
  readonly handle: LockHandle;
  /** A subscriber of `start` may set it to run the work, for example in the context of a span. */
  around?: (work: () => Promise<unknown>) => Promise<unknown>;
  /** The error of the work. */
  error?: unknown;
}

/** A request to the store; `verify` is a health check. */
export type StoreRequestKind =
  | 'acquire'
  | 'cancel'
  | 'release'
  | 'renew'
  | 'reserve'
  | 'inspect'
  | 'verify'
  | 'list-keys'
  | 'force-release';

/** The message on `nestjs-distributed-lock:request`: a finished request to the store. */
export interface StoreRequestMessage {
  /** The `name` of the module instance. */
  readonly instance: string | undefined;
  readonly request: StoreRequestKind;
  /** ms from the request to its reply. Requests of one tick are sent together and have the same duration. */
  readonly duration: number;
  /** Why there was no reply. */
  readonly error: unknown;
}

/** Publishes every request to a store. */
export const requestChannel = channel('nestjs-distributed-lock:request');

/** Publishes every event of every module instance of the process. */
export const eventChannel = channel('nestjs-distributed-lock:event');

/**
 * The part of Node's `TracingChannel` that this library uses. Not that type itself: `@types/node` 26 swapped its type
 * parameters, so a declaration that names them compiles with older or with newer versions only.
 */
export interface TraceChannel<Trace extends object> {
  readonly start: Channel;
  readonly end: Channel;
  readonly asyncStart: Channel;
  readonly asyncEnd: Channel;
  readonly error: Channel;
  tracePromise<R>(work: () => Promise<R>, trace: Trace): Promise<R>;
}

/** Traces each call for a lock, in the caller's asynchronous context. */
export const acquireChannel: TraceChannel<AcquireTrace> = tracingChannel('nestjs-distributed-lock:acquire');

/** Traces work under a lock: `withLock`, `@Locked` and `handle.run`. */
export const holdChannel: TraceChannel<HoldTrace> = tracingChannel('nestjs-distributed-lock:hold');

type Channels = Omit<TraceChannel<object>, 'tracePromise'>;

/** Whether a channel has subscribers. */
export function isTraced({ start, end, asyncStart, asyncEnd, error }: Channels): boolean {
  return (
    start.hasSubscribers ||
    asyncEnd.hasSubscribers ||
    end.hasSubscribers ||
    asyncStart.hasSubscribers ||
    error.hasSubscribers
  );
}
