import { inspect, type InspectOptions } from 'node:util';
import type { LockHolder } from './lock-info.js';

/** The `code` of each error, for callers that compare strings rather than classes. */
export type LockErrorCode =
  | 'LOCK_OPTIONS'
  | 'LOCK_TIMEOUT'
  | 'LOCK_QUEUE_FULL'
  | 'LOCK_UNAVAILABLE'
  | 'LOCK_LOST'
  | 'LOCK_NOT_HELD'
  | 'LOCK_UPGRADE'
  | 'LOCK_CONFLICT'
  | 'LOCK_UNSUPPORTED'
  | 'LOCK_CLOSED';

/** The HTTP response to an error. */
interface Answer {
  readonly status: number;
  /** The reason phrase of the status. Not from `node:http`, which would slow down the start of the command line. */
  readonly reason: string;
  /** Tells clients what to do, without the key. */
  readonly message: string;
  /** The header `Retry-After`, seconds. */
  readonly retryAfter?: number;
}

const UNAVAILABLE: Answer = {
  status: 503,
  reason: 'Service Unavailable',
  message: 'The service can not do this at the moment. Try again later.',
  retryAfter: 5,
};

/** The application's fault; clients can't fix it. */
const FAULT: Answer = {
  status: 500,
  reason: 'Internal Server Error',
  message: 'Internal server error',
};

/** The HTTP response to each error, unless the option `http` of its module instance differs. */
export const ANSWERS: Readonly<Record<LockErrorCode, Answer>> = {
  LOCK_TIMEOUT: {
    status: 423,
    reason: 'Locked',
    message: 'The resource is in use by another request. Try again later.',
    retryAfter: 1,
  },
  LOCK_QUEUE_FULL: {
    status: 429,
    reason: 'Too Many Requests',
    message: 'Too many requests wait for the resource. Try again later.',
    retryAfter: 1,
  },
  LOCK_UNAVAILABLE: UNAVAILABLE,
  LOCK_CLOSED: UNAVAILABLE,
  // During a rolling deployment, the retry may reach a process with the same `limit`.
  LOCK_CONFLICT: UNAVAILABLE,
  LOCK_LOST: FAULT,
  LOCK_NOT_HELD: FAULT,
  LOCK_UPGRADE: FAULT,
  LOCK_UNSUPPORTED: FAULT,
  LOCK_OPTIONS: FAULT,
};

/** The options `http` and `rpc` of a module instance, with defaults. */
export interface AnswerSettings {
  /** Status and reason phrase for a busy lock; `false` leaves the errors to the application. */
  readonly http: { readonly busyStatus: number; readonly busyReason: string } | false;
  readonly rpc: { readonly showKeys: boolean };
}

/** For errors that come from no module instance. */
const DEFAULTS: AnswerSettings = {
  http: { busyStatus: 423, busyReason: 'Locked' },
  rpc: { showKeys: true },
};

/** The module instance that an error comes from. */
export interface ErrorOrigin {
  /** How its errors are reported; undefined before the application has started, and without Nest. */
  readonly answers?: AnswerSettings | undefined;
}

/** The property of an error that names its origin; not enumerable, so that logs and JSON leave it out. */
const ORIGIN = Symbol('the module instance of a lock error');

/** The HTTP body of a lock error. Never contains the key. */
export interface LockErrorBody {
  readonly statusCode: number;
  readonly message: string;
  readonly error?: string;
  readonly code?: LockErrorCode;
}

interface LockErrorDetails {
  readonly keys?: readonly string[];
  readonly cause?: unknown;
}

/**
 * The base class of all errors of this library. When `DistributedLockModule` is loaded, they are instances of Nest's
 * `HttpException`, so that every exception filter can handle them; elsewhere, as in the command line, they don't need
 * Nest.
 */
export abstract class LockError extends Error {
  abstract readonly code: LockErrorCode;
  /** The keys of the failed call; empty if it had none. */
  readonly keys: readonly string[];

  constructor(message: string, details: LockErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.name = new.target.name;
    this.keys = details.keys ?? [];
  }

  /**
   * The HTTP status: 423 for a timeout (or `http.busyStatus` of the module), 429 for a full queue, 503 for an unavailable
   * store, an application that has shut down or a conflict, else 500. 500 for all errors of a module with `http: false`.
   */
  getStatus(): number {
    return this.getResponse().statusCode;
  }

  /** The HTTP body: `{ statusCode, message, error, code }`, with a message that does not contain the key. */
  getResponse(): LockErrorBody {
    const { http } = settingsOf(this);
    // The same as Nest's response to an unknown error.
    if (http === false) return { statusCode: FAULT.status, message: FAULT.message };
    const { code } = this;
    const { status, reason, message } = ANSWERS[code];
    return code === 'LOCK_TIMEOUT'
      ? { statusCode: http.busyStatus, message, error: http.busyReason, code }
      : { statusCode: status, message, error: reason, code };
  }

  /** The same as `getStatus()`, for exception filters that read a property. */
  get status(): number {
    return this.getStatus();
  }

  /** The same as `getStatus()`, for exception filters that read a property. */
  get statusCode(): number {
    return this.getStatus();
  }

  /** `JSON.stringify` would omit the message. */
  toJSON(): object {
    const { name, code, message, keys } = this;
    return { name, code, message, keys };
  }
}

/** Records which module instance a lock error comes from, unless already recorded. Returns the error. */
export function originate<E>(error: E, origin: ErrorOrigin | undefined): E {
  if (error instanceof LockError && originOf(error) === undefined)
    // A getter: not even the deepest dump of an error shows the options of the module, which have passwords.
    Object.defineProperty(error, ORIGIN, { get: () => origin });
  return error;
}

/** Sends a request whose errors {@link originate} from a module instance. */
export async function requestFrom<T>(origin: ErrorOrigin, send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    throw originate(error, origin);
  }
}

/** The module instance that an error comes from; undefined for an error that the application created. */
export function originOf(error: LockError): ErrorOrigin | undefined {
  return (error as { readonly [ORIGIN]?: ErrorOrigin })[ORIGIN];
}

/** The settings of the module instance that an error comes from. */
export function settingsOf(error: LockError): AnswerSettings {
  return originOf(error)?.answers ?? DEFAULTS;
}

/** An invalid option or key, reported before anything is sent. */
export class LockOptionsError extends LockError {
  readonly code = 'LOCK_OPTIONS';
}

/** The current holder of a lock that a call failed to acquire. */
export type LockTimeoutHolder = Pick<LockHolder, 'token' | 'acquiredAt' | 'label' | 'process'>;

/** The lock was still held when `waitTime` ended or the attempts of `retry` ran out. */
export class LockTimeoutError extends LockError {
  readonly code = 'LOCK_TIMEOUT';
  /** How long the call waited, ms. */
  readonly waitedFor: number;
  /** Remaining lease of the holder, ms, if the store reported it. A renewed lease may last longer. */
  readonly remaining: number | undefined;
  /**
   * Whether `remaining` is only an upper bound, as for leases of other processes in etcd and ZooKeeper, which store no
   * end of a lease: it may end earlier.
   */
  readonly remainingIsBound: boolean;
  /**
   * The holder of the lock when the wait ended, the oldest of several. Undefined if unknown: the library asks the store
   * only for calls with a `waitTime`, and waits for its reply only briefly.
   */
  readonly holder: LockTimeoutHolder | undefined;

  constructor(
    message: string,
    details: LockErrorDetails & {
      readonly waitedFor: number;
      readonly remaining?: number | undefined;
      readonly remainingIsBound?: boolean | undefined;
      readonly holder?: LockTimeoutHolder | undefined;
    },
  ) {
    super(message, details);
    this.waitedFor = details.waitedFor;
    this.remaining = details.remaining;
    this.remainingIsBound = details.remainingIsBound === true;
    this.holder = details.holder;
  }
}

/** The call would have had to wait, and `maxWaiting` callers of this process were waiting for the lock already. */
export class LockQueueFullError extends LockError {
  readonly code = 'LOCK_QUEUE_FULL';
  /** How many callers of this process were waiting for the lock. */
  readonly waiting: number;
  /** The `maxWaiting` of the rejected call. */
  readonly maxWaiting: number;

  constructor(
    message: string,
    details: LockErrorDetails & { readonly waiting: number; readonly maxWaiting: number },
  ) {
    super(message, details);
    this.waiting = details.waiting;
    this.maxWaiting = details.maxWaiting;
  }
}

/** The store was unreachable, refused to write, or replied after the call's `leaseTime` had passed. See `cause`. */
export class LockUnavailableError extends LockError {
  readonly code = 'LOCK_UNAVAILABLE';

  /** One line while the store is unreachable: a scheduled job that logs its error would write dozens of them each time. */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    const { unreachable = false } = (this.cause ?? {}) as { readonly unreachable?: boolean };
    return unreachable
      ? `${this.name}: ${this.message}`
      : inspect(this, { ...options, customInspect: false });
  }
}

/**
 * Why a hold ended early. `expired`: its lease ended, or its data vanished from the store. `taken`: there is another
 * holder, or the lock was released by force. `unreachable`: it could not be renewed in time, or the application shut
 * down before its work ended.
 */
export type LockLostReason = 'expired' | 'taken' | 'unreachable';

/** The hold ended before it was released. */
export class LockLostError extends LockError {
  readonly code = 'LOCK_LOST';
  readonly reason: LockLostReason;
  /** With `onLost: 'throw'`: the value that the work returned. */
  readonly result: unknown;

  constructor(
    message: string,
    details: LockErrorDetails & { readonly reason: LockLostReason; readonly result?: unknown },
  ) {
    super(message, details);
    this.reason = details.reason;
    this.result = details.result;
  }
}

/** `assertHeld` or `extend` was called without a hold, or `assertHeld` with a hold that the store has to confirm first. */
export class LockNotHeldError extends LockError {
  readonly code = 'LOCK_NOT_HELD';
}

/**
 * An exclusive lock was requested inside a shared hold of the same key, or more permits inside a hold of a semaphore.
 * The call would wait for its own hold: a deadlock.
 */
export class LockUpgradeError extends LockError {
  readonly code = 'LOCK_UPGRADE';
}

/**
 * The call used another `limit` or `mode` than the holders and waiters, such as processes of another version during a
 * rolling deployment. Only this call fails.
 */
export class LockConflictError extends LockError {
  readonly code = 'LOCK_CONFLICT';
  /** The limit of the call: 1 for an exclusive lock, `Infinity` for readers. */
  readonly limit: number;
  /** The limit of the holders and waiters. */
  readonly othersLimit: number;

  constructor(
    message: string,
    details: LockErrorDetails & { readonly limit: number; readonly othersLimit: number },
  ) {
    super(message, details);
    this.limit = details.limit;
    this.othersLimit = details.othersLimit;
  }
}

/** The store cannot do this, whatever its state. */
export class LockUnsupportedError extends LockError {
  readonly code = 'LOCK_UNSUPPORTED';
}

/**
 * A lock was requested, or a call was still waiting, after the application had stopped everything that uses locks; or a
 * call with an unlimited wait was still waiting at the end of `shutdownTimeout`.
 */
export class LockClosedError extends LockError {
  readonly code = 'LOCK_CLOSED';
}
