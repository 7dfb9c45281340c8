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
  /** Seconds. */
  readonly retryAfter: number;
}

const UNAVAILABLE: Answer = {
  status: 503,
  reason: 'Service Unavailable',
  message: 'The service can not do this at the moment. Try again later.',
  retryAfter: 5,
};

/** The errors that a client can react to (B41). Any other error is a fault of the application. */
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

const FAULT_MESSAGE = 'Internal server error';

/** Whether an error is a fault of the application, which clients can do nothing about. */
export function isFault(code: LockErrorCode): boolean {
  return ANSWERS[code] === undefined;
}

/** The message for clients. */
export function publicMessageOf(code: LockErrorCode): string {
  return ANSWERS[code]?.message ?? FAULT_MESSAGE;
}

/** Seconds for the header `Retry-After`. */
export function retryAfterOf(code: LockErrorCode): number | undefined {
  return ANSWERS[code]?.retryAfter;
}

export function bodyOf(code: LockErrorCode, { http }: AnswerSettings): LockErrorBody {
  // As Nest answers an error that it does not know.
  if (http === false) return { statusCode: 500, message: FAULT_MESSAGE };
  const { status = 500, reason = 'Internal Server Error' } = ANSWERS[code] ?? {};
  const [statusCode, error] =
    code === 'LOCK_TIMEOUT' ? [http.busyStatus, http.busyReason] : [status, reason];
  return { statusCode, message: publicMessageOf(code), error, code };
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
