import { STATUS_CODES } from 'node:http';
import type { LockError, LockErrorCode } from '../../model/lock.errors.js';

/** How one module instance answers its errors over HTTP: `http` of its options, with what was left out. */
export type HttpSettings = { readonly busyStatus: number } | false;

/** The same for callers of message handlers: `rpc` of its options. */
export interface RpcSettings {
  readonly showKeys: boolean;
}

interface Answer {
  readonly status: number | 'busyStatus';
  /** For the client: what to do, and no key. */
  readonly message: string;
  /** When to try again, seconds. */
  readonly retryAfter: number;
}

const AWAY: Answer = {
  status: 503,
  message: 'The service can not do this at the moment. Try again later.',
  retryAfter: 5,
};

/** What clients are told of errors that are daily life (B41). A lock is usually soon free, a store less so. */
const ANSWERS: Readonly<Partial<Record<LockErrorCode, Answer>>> = {
  LOCK_TIMEOUT: {
    status: 'busyStatus',
    message: 'The resource is in use by another request. Try again later.',
    retryAfter: 1,
  },
  LOCK_QUEUE_FULL: {
    status: 429,
    message: 'Too many requests wait for the resource. Try again later.',
    retryAfter: 1,
  },
  LOCK_UNAVAILABLE: AWAY,
  LOCK_CLOSED: AWAY,
};

/** Whether an error is one that a client can do nothing about, and the application should. */
export function isFault({ code }: LockError): boolean {
  return ANSWERS[code] === undefined;
}

export function publicMessageOf({ code }: LockError): string {
  return ANSWERS[code]?.message ?? 'Internal server error';
}

/** Seconds for the header `Retry-After`. */
export function retryAfterOf({ code }: LockError): number | undefined {
  return ANSWERS[code]?.retryAfter;
}

/** An error in the form in which Nest sends errors to remote clients: an `Error` would lose its message on the way. */
export function remoteError(error: LockError, { showKeys }: RpcSettings): object {
  const { message, code, keys } = error;
  return showKeys
    ? { status: 'error', message, code, keys }
    : { status: 'error', message: publicMessageOf(error), code };
}

interface AnswerBody {
  readonly statusCode: number;
  readonly message: string;
  readonly error: string;
  readonly code: LockErrorCode;
}

export function answerTo(error: LockError, { busyStatus }: Exclude<HttpSettings, false>): AnswerBody {
  const status = ANSWERS[error.code]?.status ?? 500;
  const statusCode = status === 'busyStatus' ? busyStatus : status;
  return {
    statusCode,
    message: publicMessageOf(error),
    error: STATUS_CODES[statusCode] ?? 'Error',
    code: error.code,
  };
}
