/** The `code` of each error, for callers that compare strings rather than classes. */
export type LockErrorCode =
  | 'LOCK_OPTIONS'
  | 'LOCK_TIMEOUT'
  | 'LOCK_QUEUE_FULL'
  | 'LOCK_UNAVAILABLE'
  | 'LOCK_LOST'
  | 'LOCK_NOT_HELD'
  | 'LOCK_UPGRADE'
  | 'LOCK_CLOSED';

/** How one module instance answers its errors: `http` and `rpc` of its options, with defaults. */
export interface AnswerSettings {
  /** Status and reason phrase for a busy lock; `false` leaves the errors to the application. */
  readonly http: { readonly busyStatus: number; readonly busyReason: string } | false;
  readonly rpc: { readonly showKeys: boolean };
}

/** The body of the HTTP answer to a lock error. Never contains the key. */
export interface LockErrorBody {
  readonly statusCode: number;
  readonly message: string;
  readonly error?: string;
  readonly code?: LockErrorCode;
}

interface Answer {
  readonly status: number;
  /** The reason phrase of the status. Not from `node:http`, which would slow down the start of the command line. */
  readonly reason: string;
  /** For clients: what to do, without the key. */
  readonly message: string;
  /** Seconds, for the header `Retry-After`. */
  readonly retryAfter?: number;
}

const UNAVAILABLE: Answer = {
  status: 503,
  reason: 'Service Unavailable',
  message: 'The service can not do this at the moment. Try again later.',
  retryAfter: 5,
};

/** A fault of the application, which clients can do nothing about. */
const FAULT: Answer = {
  status: 500,
  reason: 'Internal Server Error',
  message: 'Internal server error',
};

/** The errors that clients can react to (B41); any other one is a fault. */
const ANSWERS: Readonly<Partial<Record<LockErrorCode, Answer>>> = {
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
};

/** With default settings; see {@link bodyOf}. */
export function answerTo(code: LockErrorCode): Answer {
  return ANSWERS[code] ?? FAULT;
}

/** Whether an error is a fault of the application. */
export function isFault(code: LockErrorCode): boolean {
  return answerTo(code) === FAULT;
}

export function bodyOf(code: LockErrorCode, { http }: AnswerSettings): LockErrorBody {
  // The same as Nest's answer to an error that it does not know.
  if (http === false) return { statusCode: FAULT.status, message: FAULT.message };
  const { status, reason, message } = answerTo(code);
  return code === 'LOCK_TIMEOUT'
    ? { statusCode: http.busyStatus, message, error: http.busyReason, code }
    : { statusCode: status, message, error: reason, code };
}

const DEFAULTS: AnswerSettings = {
  http: { busyStatus: 423, busyReason: 'Locked' },
  rpc: { showKeys: true },
};

const settingsOfOrigin = new WeakMap<object, AnswerSettings>();

/** Sets how errors are answered that originate from these services and engines. */
export function answerErrorsOf(origins: readonly object[], settings: AnswerSettings): void {
  for (const origin of origins) settingsOfOrigin.set(origin, settings);
}

/** Defaults for an error that comes from no module instance. */
export function settingsOfErrorsFrom(origin: object | undefined): AnswerSettings {
  return (origin && settingsOfOrigin.get(origin)) ?? DEFAULTS;
}
